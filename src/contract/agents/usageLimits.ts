import * as v from 'valibot'
import { AgentId, Id, refTo } from '../fields.ts'

const onLimit = v.picklist(['stop', 'wait', 'next'], 'must be stop, wait or next')

/**
 * The action for a card whose agent has reached a usage limit:
 * - stop: the card fails.
 * - wait: the card continues at the end of the limit that the agent reports.
 * - next: the card continues with the first agent of `next` that has not reached a limit; after the last one, as with `wait`.
 */
export const UsageLimits = v.object({
  onLimit,
  next: v.array(
    v.object({ agent: v.nullable(v.string()), profile: v.nullable(v.string()), credentialId: v.nullable(Id) }),
  ),
})
export type UsageLimits = v.InferOutput<typeof UsageLimits>
export const defaultUsageLimits: UsageLimits = { onLimit: 'stop', next: [] }

const Next = v.pipe(
  v.strictObject({
    agent: v.optional(v.nullable(AgentId), null),
    profile: v.optional(v.nullable(AgentId), null),
    credentialId: v.optional(v.nullable(refTo('CREDENTIAL_NOT_FOUND')), null),
  }),
  v.check(
    ({ agent, profile, credentialId }) => agent !== null || profile !== null || credentialId !== null,
    'must name an agent, a profile or a credential',
  ),
)
export const ChangedUsageLimits = v.strictObject({
  onLimit: v.optional(onLimit, 'stop'),
  next: v.optional(v.pipe(v.array(Next), v.maxLength(10, 'must have at most 10 entries')), []),
})
