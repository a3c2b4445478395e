import * as v from 'valibot'
import { IntegerId, refTo } from './fields.ts'

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

/** The cards that a card waits for, what it is a part of, and on which it was found. */
export const CardOrder = {
  blockedBy: v.optional(cards(refTo('CARD_NOT_FOUND'))),
  parentId: v.optional(v.nullable(refTo('CARD_NOT_FOUND'))),
  discoveredFromId: v.optional(v.nullable(refTo('CARD_NOT_FOUND'))),
}
/** The same for external routes. */
export const ExternalBlockers = v.optional(cards(IntegerId), [])
/** Starts a card that waits for others nevertheless. */
export const Force = v.optional(v.boolean(), false)
export const ForceStart = v.optional(v.strictObject({ force: Force }), {})
