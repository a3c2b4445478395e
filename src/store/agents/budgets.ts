import type { BudgetPeriod, BudgetScope, BudgetState, BudgetUnit } from '../../contract/agents/budgets.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, number, text, type Change, type NewRow, type Row } from '../engine/record.ts'

/** The display name of the budget's scope. */
const scopeName = `coalesce((SELECT title FROM cards WHERE id = b.card_id), (SELECT name FROM projects WHERE id = b.project_id),
  (SELECT name FROM organizations WHERE id = b.organization_id), (SELECT name FROM credentials WHERE id = b.credential_id))`
/** One of `cardId`, `projectId`, `organizationId` and `credentialId` is not null. */
export const budgetFields = {
  id: id(),
  cardId: id().orNull(),
  projectId: id().orNull(),
  organizationId: id().orNull(),
  credentialId: id().orNull(),
  scope: text<BudgetScope>().computed(
    `CASE WHEN b.card_id IS NOT NULL THEN 'card' WHEN b.project_id IS NOT NULL THEN 'project' WHEN b.organization_id IS NOT NULL THEN 'organization' ELSE 'credential' END`,
  ),
  scopeId: id().computed('coalesce(b.card_id, b.project_id, b.organization_id, b.credential_id)'),
  scopeName: text().computed(scopeName),
  /** The project of a budget for a card or a project. */
  ofProject: id().orNull().computed('coalesce(b.project_id, (SELECT project_id FROM cards WHERE id = b.card_id))'),
  unit: text<BudgetUnit>(),
  /** The limit. */
  amount: number(),
  period: text<BudgetPeriod>(),
  /** The first day of the period that `spent`, `unknownRuns` and `notifiedState` refer to. */
  periodStart: text(),
  spent: number(),
  unknownRuns: number(),
  /** The last state in the period that users were notified about. */
  notifiedState: text<BudgetState>().initially('ok'),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
}
export type BudgetRow = Row<typeof budgetFields>
export type NewBudget = NewRow<typeof budgetFields>

const record = defineRecord('budgets', 'b', budgetFields)
const fields = record.columns

/** The owner of the spending agents. */
export interface Spender {
  cardId: number
  projectId: number
  credentialId: number | null
}

/** A scope has at most one budget of a unit and period. */
export type BudgetKind = Pick<BudgetRow, 'scope' | 'scopeId' | 'unit' | 'period'>
export const findBudgetOfKind = (
  db: Reader,
  { scope, scopeId, unit, period }: BudgetKind,
): Promise<BudgetRow | undefined> =>
  db.get(`SELECT ${fields} FROM budgets b WHERE b.${scope}_id = ? AND b.unit = ? AND b.period = ?`, [
    scopeId,
    unit,
    period,
  ])

export const insertBudget = (tx: Transaction, budget: NewBudget): Promise<number> => record.insert(tx, budget)
export const updateBudget = (
  tx: Transaction,
  id: number,
  change: Pick<
    Change<typeof budgetFields>,
    'amount' | 'period' | 'periodStart' | 'spent' | 'unknownRuns' | 'notifiedState'
  >,
): void => record.update(tx, id, change)
/** Writes the spent amount. The time of change is unchanged, because no user changed the budget. */
export const noteSpent = (
  tx: Transaction,
  {
    id,
    periodStart,
    spent,
    unknownRuns,
    notifiedState,
  }: Pick<BudgetRow, 'id' | 'periodStart' | 'spent' | 'unknownRuns' | 'notifiedState'>,
): void =>
  tx.enqueue('UPDATE budgets SET period_start = ?, spent = ?, unknown_runs = ?, notified_state = ? WHERE id = ?', [
    periodStart,
    spent,
    unknownRuns,
    notifiedState,
    id,
  ])
export const deleteBudget = (tx: Transaction, id: number): void => tx.enqueue('DELETE FROM budgets WHERE id = ?', [id])

export const readBudget = (db: Reader, id: number): Promise<BudgetRow | undefined> =>
  db.get(`SELECT ${fields} FROM budgets b WHERE b.id = ?`, [id])

/** The budgets that limit a card's agents: its own, its project's, its organization's and the credential's. */
export const listBudgetsOf = (db: Reader, { cardId, projectId, credentialId }: Spender): Promise<BudgetRow[]> =>
  db.all(
    `SELECT ${fields} FROM budgets b WHERE b.id IN (SELECT id FROM budgets WHERE card_id = ?1 UNION ALL SELECT id FROM budgets WHERE project_id = ?2
      UNION ALL SELECT id FROM budgets WHERE organization_id = (SELECT organization_id FROM projects WHERE id = ?2)
      UNION ALL SELECT id FROM budgets WHERE credential_id = ?3) ORDER BY b.id`,
    [cardId, projectId, credentialId],
  )

/** Filters budgets by what a user can see. */
export interface BudgetFilter {
  userId: number
  /** Whether the user can see the budgets of all organizations. */
  seesAll: boolean
  /** The projects that the user can see. */
  projectIds: readonly number[]
  projectId?: number
  cardId?: number
  organizationId?: number
  credentialId?: number
}
/** Lists budgets in order of creation. A card's own budgets are omitted while the card is in the trash. */
export const listBudgets = (
  db: Reader,
  { userId, seesAll, projectIds, projectId, cardId, organizationId, credentialId }: BudgetFilter,
): Promise<BudgetRow[]> =>
  db.all(
    `SELECT ${fields} FROM budgets b LEFT JOIN cards c ON c.id = b.card_id
     WHERE (coalesce(b.project_id, c.project_id) IN (SELECT value FROM json_each(?1)) AND c.deleted_at IS NULL
       OR b.organization_id IS NOT NULL AND (?2 OR EXISTS (SELECT 1 FROM organization_members m WHERE m.organization_id = b.organization_id AND m.user_id = ?3))
       OR b.credential_id IN (SELECT id FROM credentials WHERE user_id = ?3))
     AND (?4 IS NULL OR coalesce(b.project_id, c.project_id) = ?4) AND (?5 IS NULL OR b.card_id = ?5)
     AND (?6 IS NULL OR b.organization_id = ?6) AND (?7 IS NULL OR b.credential_id = ?7) ORDER BY b.id`,
    [JSON.stringify(projectIds), seesAll, userId, projectId, cardId, organizationId, credentialId],
  )

/**
 * The budgets that limit a project's agents: its own, its cards', its organization's, those of its credential and of the
 * credentials in use.
 */
export const listBudgetsInProject = (db: Reader, projectId: number): Promise<BudgetRow[]> =>
  db.all(
    `SELECT ${fields} FROM budgets b WHERE b.project_id = ?1
     OR b.card_id IN (SELECT c.id FROM budgets d JOIN cards c ON c.id = d.card_id WHERE c.project_id = ?1 AND c.deleted_at IS NULL)
     OR b.organization_id = (SELECT organization_id FROM projects WHERE id = ?1)
     OR b.credential_id IN (SELECT coalesce(p.credential_id, o.default_credential_id) FROM projects p LEFT JOIN organizations o ON o.id = p.organization_id WHERE p.id = ?1)
     OR b.credential_id IN (SELECT s.credential_id FROM agent_sessions s INDEXED BY agent_sessions_open WHERE s.project_id = ?1 AND s.ended_at IS NULL) ORDER BY b.id`,
    [projectId],
  )

/** The IDs of the open agent sessions that a budget limits, oldest first. Terminal cards run no agents. */
export const listSessionsUnder = async (
  db: Reader,
  {
    cardId,
    projectId,
    organizationId,
    credentialId,
  }: Pick<BudgetRow, 'cardId' | 'projectId' | 'organizationId' | 'credentialId'>,
): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT s.id FROM agent_sessions s INDEXED BY agent_sessions_open JOIN projects p ON p.id = s.project_id
       WHERE s.ended_at IS NULL AND s.purpose <> 'terminal'
       AND (s.card_id = ?1 OR s.project_id = ?2 OR p.organization_id = ?3 OR s.credential_id = ?4) ORDER BY s.id`,
      [cardId, projectId, organizationId, credentialId],
    )
  ).map(({ id }) => id)

export const listAllBudgets = (db: Reader): Promise<BudgetRow[]> =>
  db.all(`SELECT ${fields} FROM budgets b ORDER BY b.id`)
