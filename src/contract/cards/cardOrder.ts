import * as v from 'valibot'
import { GivenTime, IntegerId, refTo, text } from '../fields.ts'

/** The maximum number of blockers, dependents and parts of a card. */
export const maxBlockers = 100
export const maxDependents = 1000
export const maxChildren = 1000

const cards = <Id extends v.GenericSchema<unknown, number>>(id: Id) =>
  v.pipe(
    v.array(id),
    v.maxLength(maxBlockers, `must have at most ${maxBlockers} cards`),
    v.check(ids => new Set(ids).size === ids.length, 'must contain each card once'),
  )

/** The earliest start of a card. Null if there is no start time. */
export const StartAt = v.optional(v.nullable(GivenTime))
/** The blockers and the start time of a card, its parent, and the card on which it was found. */
export const CardOrder = {
  blockedBy: v.optional(cards(refTo('CARD_NOT_FOUND'))),
  parentId: v.optional(v.nullable(refTo('CARD_NOT_FOUND'))),
  discoveredFromId: v.optional(v.nullable(refTo('CARD_NOT_FOUND'))),
  startAt: StartAt,
}

/** A name that Git accepts for a branch or tag, or an abbreviated commit. */
export const GitName = v.pipe(
  text(1, 250),
  v.check(
    name => !/[\p{C}\s~^:?*[\\]|\.\.|@\{|^[-/.]|[/.]$|\/[/.]|\.lock(\/|$)|^@$/u.test(name),
    'must be the name of a branch or tag, or a commit',
  ),
)
/**
 * The start of a card's branch until the branch exists: a branch, tag or commit, or the branch of another card. If both are null,
 * the project's folder decides.
 */
export const CardBase = {
  base: v.optional(v.nullable(GitName)),
  baseCardId: v.optional(v.nullable(refTo('CARD_NOT_FOUND'))),
}
/** Blockers on external routes. */
export const ExternalBlockers = v.optional(cards(IntegerId), [])
/** Starts a card even if it waits for others, and moves a card into a full column. */
export const Force = v.optional(v.boolean(), false)
export const Forced = v.optional(v.strictObject({ force: Force }), {})
