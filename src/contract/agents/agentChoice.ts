import * as v from 'valibot'
import { AgentId, text } from '../fields.ts'

/** The agent's ID of one of its models, modes or efforts. */
const OptionId = text(1, 200)

/**
 * The agent that works, and its options. A null field is decided by the next level: card, column, project, server, the agent
 * itself.
 */
export const AgentChoice = v.object({
  agent: v.nullable(v.string()),
  profile: v.nullable(v.string()),
  model: v.nullable(v.string()),
  mode: v.nullable(v.string()),
  effort: v.nullable(v.string()),
})
export type AgentChoice = v.InferOutput<typeof AgentChoice>

/** Fields of a request that changes a choice. Null returns the decision to the next level. */
export const ChangedAgentChoice = v.strictObject({
  agent: v.optional(v.nullable(AgentId)),
  profile: v.optional(v.nullable(AgentId)),
  model: v.optional(v.nullable(OptionId)),
  mode: v.optional(v.nullable(OptionId)),
  effort: v.optional(v.nullable(OptionId)),
})
