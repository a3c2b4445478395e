import * as v from 'valibot'
import { GivenTime, IntegerId, refTo, text } from './fields.ts'

/** How many cards a card may wait for, how many may wait for it, and how many parts it may have. */
export const maxBlockers = 100
export const maxDependents = 1000
export const maxChildren = 1000

const cards = <Id extends v.GenericSchema<unknown, number>>(id: Id) =>
  v.pipe(
    v.array(id),
    v.maxLength(maxBlockers, `must name at most ${maxBlockers} cards`),
    v.check(ids => new Set(ids).size === ids.length, 'must name each card once'),
  )

/** When a card starts, which does not before; null for whenever somebody starts it. */
export const StartAt = v.optional(v.nullable(GivenTime))
/** The cards that a card waits for and until when, what it is a part of, and on which it was found. */
export const CardOrder = {
  blockedBy: v.optional(cards(refTo('CARD_NOT_FOUND'))),
  parentId: v.optional(v.nullable(refTo('CARD_NOT_FOUND'))),
  discoveredFromId: v.optional(v.nullable(refTo('CARD_NOT_FOUND'))),
  startAt: StartAt,
}

/** What Git takes as the name of a branch or tag, and an abbreviated commit. */
export const GitName = v.pipe(
  text(1, 250),
  v.check(
    name => !/[\p{C}\s~^:?*[\\]|\.\.|@\{|^[-/.]|[/.]$|\/[/.]|\.lock(\/|$)|^@$/u.test(name),
    'must be the name of a branch or tag, or a commit',
  ),
)
/**
 * What a card's branch starts at, until it is there: a branch, tag or commit, or the branch of another card; of one that is null the
 * project's folder decides.
 */
export const CardBase = {
  base: v.optional(v.nullable(GitName)),
  baseCardId: v.optional(v.nullable(refTo('CARD_NOT_FOUND'))),
}
/** The same for external routes. */
export const ExternalBlockers = v.optional(cards(IntegerId), [])
/** Nevertheless starts a card that waits for others, and puts one into a full column. */
export const Force = v.optional(v.boolean(), false)
export const Forced = v.optional(v.strictObject({ force: Force }), {})
