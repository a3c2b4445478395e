import type { BudgetUnit } from '../../contract/agents/budgets.ts'
import type { UsageGroup } from '../../contract/agents/usage.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, number, text, type NewRow, type Row } from '../engine/record.ts'

/** The usage of an agent's run on a day. `costUnknown` and `tokensUnknown` are 1 for a run that has not reported them. */
const usageFields = {
  id: id(),
  day: text(),
  sessionId: id(),
  cardId: id(),
  projectId: id(),
  organizationId: id().orNull(),
  credentialId: id().orNull(),
  userId: id().orNull(),
  agent: text(),
  model: text().orNull(),
  runs: number().initially(0),
  costUnknown: number().initially(0),
  tokensUnknown: number().initially(0),
  inputTokens: number().initially(0),
  outputTokens: number().initially(0),
  costUsd: number().initially(0),
  estimatedUsd: number().initially(0),
  runningMs: number().initially(0),
}
export type UsageEntry = Row<typeof usageFields>
export type NewUsage = NewRow<typeof usageFields>
const counted = [
  'runs',
  'costUnknown',
  'tokensUnknown',
  'inputTokens',
  'outputTokens',
  'costUsd',
  'estimatedUsd',
  'runningMs',
] as const
/** The amounts that are added to an entry. */
export type UsageDelta = Partial<Pick<UsageEntry, (typeof counted)[number]>>

const record = defineRecord('agent_usage', 'u', usageFields)
const columns: Record<(typeof counted)[number], string> = {
  runs: 'runs',
  costUnknown: 'cost_unknown',
  tokensUnknown: 'tokens_unknown',
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  costUsd: 'cost_usd',
  estimatedUsd: 'estimated_usd',
  runningMs: 'running_ms',
}

export const insertUsage = (tx: Transaction, row: NewUsage): Promise<number> => record.insert(tx, row)

export const addToUsage = (tx: Transaction, id: number, delta: UsageDelta): void => {
  const added = counted.filter(name => delta[name])
  if (added.length > 0)
    tx.enqueue(
      `UPDATE agent_usage SET ${added.map(name => `${columns[name]} = ${columns[name]} + ?`).join(', ')} WHERE id = ?`,
      [...added.map(name => delta[name]!), id],
    )
}

/** Records the model and the credential that a run actually used. */
export const nameUsage = (
  tx: Transaction,
  id: number,
  { model, credentialId }: Pick<UsageEntry, 'model' | 'credentialId'>,
): void => tx.enqueue('UPDATE agent_usage SET model = ?, credential_id = ? WHERE id = ?', [model, credentialId, id])

/** The entry that counts a session's latest run. */
export const readRunEntry = (
  db: Reader,
  { cardId, sessionId }: Pick<UsageEntry, 'cardId' | 'sessionId'>,
): Promise<UsageEntry | undefined> =>
  db.get(
    `SELECT ${record.columns} FROM agent_usage u WHERE u.card_id = ? AND u.session_id = ? AND u.runs > 0 ORDER BY u.id DESC LIMIT 1`,
    [cardId, sessionId],
  )

/** The scope of a usage sum. */
export type UsageScope = 'cardId' | 'projectId' | 'organizationId' | 'credentialId'
const scopeColumns: Record<UsageScope, string> = {
  cardId: 'card_id',
  projectId: 'project_id',
  organizationId: 'organization_id',
  credentialId: 'credential_id',
}
/** SQL of the amount that a budget's unit counts, and of the runs without a known amount. */
const sums: Record<BudgetUnit, readonly [spent: string, unknown: string]> = {
  usd: ['sum(cost_usd)', 'sum(cost_unknown)'],
  tokens: ['sum(input_tokens + output_tokens)', 'sum(tokens_unknown)'],
  runs: ['sum(runs)', '0'],
  hours: ['sum(running_ms) / 3600000.0', '0'],
}

/** The usage from a day up to another day, exclusive. */
export async function sumUsage(
  db: Reader,
  of: { scope: UsageScope; scopeId: number; unit: BudgetUnit },
  from: string,
  until: string,
): Promise<{ spent: number; unknownRuns: number }> {
  const [spent, unknown] = sums[of.unit]
  const row = await db.get<{ spent: number | null; unknownRuns: number | null }>(
    `SELECT ${spent} AS spent, ${unknown} AS unknownRuns FROM agent_usage WHERE ${scopeColumns[of.scope]} = ? AND day >= ? AND day < ?`,
    [of.scopeId, from, until],
  )
  return { spent: row?.spent ?? 0, unknownRuns: row?.unknownRuns ?? 0 }
}

/** A group of usage. A value that is unknown for all of its runs is null. */
export interface UsageGroupRow {
  key: string | null
  name: string | null
  runs: number
  unknownRuns: number
  inputTokens: number | null
  outputTokens: number | null
  costUsd: number | null
  estimatedUsd: number
  hours: number
}
export interface UsageFilter {
  groupBy: UsageGroup
  from?: string
  to?: string
  /** The projects whose usage is included. Null for all, including deleted ones. */
  projectIds: readonly number[] | null
  organizationId?: number
  cardId?: number
  /** Names of credentials are shown to their owner and to administrators. */
  userId: number
  seesAll: boolean
}

const groups: Record<UsageGroup, { key: string; name: string; join?: string }> = {
  card: { key: 'u.card_id', name: 'max(c.title)', join: 'LEFT JOIN cards c ON c.id = u.card_id' },
  project: { key: 'u.project_id', name: 'max(p.name)', join: 'LEFT JOIN projects p ON p.id = u.project_id' },
  agent: { key: 'u.agent', name: 'u.agent' },
  model: { key: 'u.model', name: 'u.model' },
  user: { key: 'u.user_id', name: 'max(a.display_name)', join: 'LEFT JOIN users a ON a.id = u.user_id' },
  credential: {
    key: 'u.credential_id',
    name: 'max(iif(?6 OR k.user_id = ?5, k.name, NULL))',
    join: 'LEFT JOIN credentials k ON k.id = u.credential_id',
  },
  day: { key: 'u.day', name: 'u.day' },
}

/** Usage by groups: days in their order, others by cost, the highest first. */
export const listUsageGroups = (
  db: Reader,
  { groupBy, from, to, projectIds, organizationId, cardId, userId, seesAll }: UsageFilter,
): Promise<UsageGroupRow[]> => {
  const { key, name, join = '' } = groups[groupBy]
  return db.all(
    `SELECT cast(${key} AS TEXT) AS key, ${name} AS name, sum(u.runs) AS runs, sum(u.cost_unknown) AS unknownRuns,
      iif(sum(u.tokens_unknown) >= sum(u.runs) AND sum(u.input_tokens) = 0, NULL, sum(u.input_tokens)) AS inputTokens,
      iif(sum(u.tokens_unknown) >= sum(u.runs) AND sum(u.output_tokens) = 0, NULL, sum(u.output_tokens)) AS outputTokens,
      iif(sum(u.cost_unknown) >= sum(u.runs) AND sum(u.cost_usd) = 0, NULL, sum(u.cost_usd)) AS costUsd,
      sum(u.estimated_usd) AS estimatedUsd, sum(u.running_ms) / 3600000.0 AS hours
     FROM agent_usage u ${join}
     WHERE (?1 IS NULL OR u.day >= ?1) AND (?2 IS NULL OR u.day <= ?2) AND (?3 IS NULL OR u.project_id IN (SELECT value FROM json_each(?3)))
       AND (?4 IS NULL OR u.organization_id = ?4) AND (?7 IS NULL OR u.card_id = ?7) AND (?5 IS NOT NULL OR ?6)
     GROUP BY ${key} ORDER BY ${groupBy === 'day' ? 'u.day' : 'costUsd IS NULL, costUsd DESC, runs DESC, 1'}`,
    [from, to, projectIds && JSON.stringify(projectIds), organizationId, userId, seesAll, cardId],
  )
}
