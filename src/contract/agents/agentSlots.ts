import * as v from 'valibot'
import { integer } from '../fields.ts'

/** The maximum number of concurrent agents. Null if unlimited. */
export const Slots = v.nullable(integer(1, 10_000))
/** The maximum number of cards that a session can create. */
export const SessionCards = integer(0, 10_000)
export const defaultSessionCards = 50
const AgentId = v.pipe(v.string(), v.minLength(1), v.maxLength(100))

/** The maximum number of concurrent agents on all machines, in total and per agent. */
export const AgentSlots = v.object({ server: Slots, agents: v.record(AgentId, integer(1, 10_000)) })
export type AgentSlots = v.InferOutput<typeof AgentSlots>
/** Null removes a limit. Omitted limits are unchanged. */
export const ChangedAgentSlots = v.strictObject({
  server: v.optional(Slots),
  agents: v.optional(v.record(AgentId, Slots)),
})
export type ChangedAgentSlots = v.InferOutput<typeof ChangedAgentSlots>
