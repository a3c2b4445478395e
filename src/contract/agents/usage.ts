import * as v from 'valibot'
import { Count, Day, queryRefTo } from '../fields.ts'
import { get, user } from '../route.ts'

export const UsageGroup = v.picklist(
  ['card', 'project', 'agent', 'model', 'user', 'credential', 'day'],
  'must be card, project, agent, model, user, credential or day',
)
export type UsageGroup = v.InferOutput<typeof UsageGroup>

/**
 * The usage of agents. `key` is an ID, a name or a day; null if it is unknown. `unknownRuns` are the runs with an unknown cost,
 * which are not in `costUsd`. A value that is unknown for all runs is null, never 0. `estimatedUsd` is the part of `costUsd` that
 * comes from the price list.
 */
export const UsageRow = v.object({
  key: v.nullable(v.string()),
  name: v.nullable(v.string()),
  runs: Count,
  unknownRuns: Count,
  inputTokens: v.nullable(Count),
  outputTokens: v.nullable(Count),
  costUsd: v.nullable(v.number()),
  estimatedUsd: v.number(),
  hours: v.number(),
})

/** Days in UTC, both included. */
const ListUsage = v.pipe(
  v.strictObject({
    groupBy: UsageGroup,
    from: v.optional(Day),
    to: v.optional(Day),
    projectId: v.optional(queryRefTo('PROJECT_NOT_FOUND')),
    organizationId: v.optional(queryRefTo('ORGANIZATION_NOT_FOUND')),
    cardId: v.optional(queryRefTo('CARD_NOT_FOUND')),
  }),
  v.forward(
    v.check(({ from, to }) => from === undefined || to === undefined || from <= to, 'must not be before from'),
    ['to'],
  ),
)

export const usage = {
  list: get('/api/usage', {
    who: user,
    fails: ['PROJECT_NOT_FOUND', 'CARD_NOT_FOUND', 'ORGANIZATION_NOT_FOUND'],
    summary: 'Get the usage of agents, most expensive first',
    details: 'Days are in chronological order.',
    input: ListUsage,
    csv: true,
    output: v.array(UsageRow),
  }),
}
