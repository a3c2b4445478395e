import {
  isLimitOf,
  wholeLimit,
  type BudgetPeriod,
  type BudgetScope,
  type BudgetState,
  type BudgetUnit,
} from '../../contract/agents/budgets.ts'
import { invalid, Problem, type NotFoundCode } from '../../contract/errors.ts'
import type { UsageGroup } from '../../contract/agents/usage.ts'
import { appendEvent } from '../../events/outbox.ts'
import * as store from '../../store/agents/budgets.ts'
import { projectOfCard } from '../../store/cards/cards.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { readSession } from '../../store/agents/sessions.ts'
import { listUsageGroups, type UsageGroupRow } from '../../store/agents/usage.ts'
import { budget as budgetView } from '../../views/budgets.ts'
import { organizationRole, requireRole } from '../accounts/access.ts'
import { periodAt } from './budgetPeriods.ts'
import { pauseUnder } from './budgetPauses.ts'
import { describeSpent, measureBudget, measureFrom, stateOf, type MeasuredBudget } from './budgetState.ts'
import { isAdmin, type Caller } from '../accounts/caller.ts'
import * as credentials from '../accounts/credentials.ts'
import * as organizations from '../accounts/organizations.ts'
import * as projects from '../projects/projects.ts'
import type { Agents } from './sessions.ts'

export interface NewBudget {
  scope: BudgetScope
  scopeId: number
  unit: BudgetUnit
  limit: number
  period: BudgetPeriod
}
/** The scope of a list. If empty, all budgets that the caller can see. */
export interface About {
  projectId?: number
  cardId?: number
  organizationId?: number
  credentialId?: number
}

/**
 * The budgets that the caller can see: of visible projects and their cards, of the caller's organizations, of the caller's own
 * credentials.
 * @throws Problem PROJECT_NOT_FOUND, CARD_NOT_FOUND, ORGANIZATION_NOT_FOUND, CREDENTIAL_NOT_FOUND
 */
export async function list(db: Reader, caller: Caller, about: About, now: string): Promise<MeasuredBudget[]> {
  await requireVisible(db, caller, about)
  const rows = await store.listBudgets(db, {
    ...about,
    userId: caller.userId,
    seesAll: isAdmin(caller),
    projectIds: await visibleProjects(db, caller),
  })
  return Promise.all(rows.map(row => measureBudget(db, row, now)))
}

/** The budgets that limit a project's agents. All members see them, because the budgets also stop their work. */
export const listProject = async (db: Reader, projectId: number, now: string): Promise<MeasuredBudget[]> =>
  Promise.all((await store.listBudgetsInProject(db, projectId)).map(row => measureBudget(db, row, now)))

/** The number of budgets by state. */
export async function countByState(db: Reader, now: string): Promise<Record<BudgetState, number>> {
  const states = await Promise.all(
    (await store.listAllBudgets(db)).map(async row => (await measureBudget(db, row, now)).state),
  )
  const count = (state: BudgetState) => states.filter(each => each === state).length
  return { ok: count('ok'), warned: count('warned'), exhausted: count('exhausted') }
}

/**
 * Creates a budget. Earlier usage in its period counts, so that it can be exhausted from the start.
 * @throws Problem CARD_NOT_FOUND, PROJECT_NOT_FOUND, ORGANIZATION_NOT_FOUND, CREDENTIAL_NOT_FOUND, FORBIDDEN, CONFLICT if there
 * is already one of the same unit and period
 */
export async function create(
  tx: Transaction,
  agents: Agents,
  caller: Caller,
  { scope, scopeId, unit, limit, period }: NewBudget,
): Promise<MeasuredBudget> {
  await requireManager(tx, caller, scope, scopeId)
  const { start, until } = periodAt(period, tx.now)
  const used = await measureFrom(tx, { scope, scopeId, unit }, { start, until })
  await requireOnlyOne(tx, { scope, scopeId, unit, period })
  const id = await store.insertBudget(tx, {
    [`${scope}Id`]: scopeId,
    unit,
    amount: limit,
    period,
    periodStart: start,
    ...used,
    notifiedState: stateOf(used.spent, limit),
  })
  return announceChange(tx, agents, id, 'budget.created')
}

/**
 * Changes a budget. Sessions that wait for it continue after the commit if it allows them now.
 * @throws Problem BUDGET_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED, CONFLICT if there is already one of the same unit and period
 */
export async function update(
  tx: Transaction,
  agents: Agents,
  caller: Caller,
  id: number,
  change: { limit?: number; period?: BudgetPeriod },
): Promise<MeasuredBudget> {
  const row = await findManaged(tx, caller, id)
  const { limit = row.amount, period = row.period } = change
  if (!isLimitOf(row.unit, limit)) throw invalid('limit', wholeLimit)
  const { start, until } = periodAt(period, tx.now)
  const used = await measureFrom(tx, row, { start, until })
  await requireOnlyOne(tx, { ...row, period }, id)
  store.updateBudget(tx, id, {
    amount: limit,
    period,
    periodStart: start,
    ...used,
    notifiedState: stateOf(used.spent, limit),
  })
  agents.reconcile(tx)
  return announceChange(tx, agents, id, 'budget.updated')
}

/** Deletes a budget. Sessions that wait for it continue. @throws Problem BUDGET_NOT_FOUND, FORBIDDEN */
export async function remove(tx: Transaction, agents: Agents, caller: Caller, id: number): Promise<void> {
  const row = await findManaged(tx, caller, id)
  const told = await projectsToTell(tx, row)
  store.deleteBudget(tx, id)
  for (const projectId of told) await appendEvent(tx, 'budget.deleted', projectId, { id: String(id) })
  agents.reconcile(tx)
}

/**
 * The usage of agents in the projects that the caller can see. Administrators also see the usage of deleted projects.
 * @throws Problem as `list`
 */
export async function usage(
  db: Reader,
  caller: Caller,
  { groupBy, from, to, ...about }: { groupBy: UsageGroup; from?: string; to?: string } & Omit<About, 'credentialId'>,
): Promise<UsageGroupRow[]> {
  await requireVisible(db, caller, about)
  const { projectId, ...rest } = about
  const visible = isAdmin(caller) ? null : await visibleProjects(db, caller)
  return listUsageGroups(db, {
    ...rest,
    groupBy,
    from,
    to,
    projectIds: projectId === undefined ? visible : [projectId],
    userId: caller.userId,
    seesAll: isAdmin(caller),
  })
}

const visibleProjects = async (db: Reader, caller: Caller): Promise<number[]> =>
  (await projects.list(db, caller)).map(({ id }) => id)

async function requireVisible(
  db: Reader,
  caller: Caller,
  { projectId, cardId, organizationId, credentialId }: About,
): Promise<void> {
  if (projectId !== undefined)
    await requireRole(db, caller, projectId, 'viewer', () => new Problem('PROJECT_NOT_FOUND'))
  if (cardId !== undefined) await requireCard(db, caller, cardId, 'viewer')
  if (organizationId !== undefined && !(await organizationRole(db, caller, organizationId)))
    throw new Problem('ORGANIZATION_NOT_FOUND')
  if (credentialId !== undefined) await credentials.find(db, caller, credentialId)
}

async function requireCard(db: Reader, caller: Caller, cardId: number, role: 'viewer' | 'admin'): Promise<void> {
  const missingCard = () => new Problem('CARD_NOT_FOUND')
  const projectId = await projectOfCard(db, cardId)
  if (projectId === undefined) throw missingCard()
  await requireRole(db, caller, projectId, role, missingCard)
}

/**
 * The admins of a project manage its budgets and those of its cards, the admins of an organization its budgets, and the owner of
 * a credential its budgets.
 */
async function requireManager(db: Reader, caller: Caller, scope: BudgetScope, scopeId: number): Promise<void> {
  if (scope === 'card') await requireCard(db, caller, scopeId, 'admin')
  else if (scope === 'project') await requireRole(db, caller, scopeId, 'admin', () => new Problem('PROJECT_NOT_FOUND'))
  else if (scope === 'organization') await organizations.findAdministered(db, caller, scopeId)
  else await credentials.find(db, caller, scopeId)
}

/** A budget that the caller can change. An invisible budget counts as missing. @throws Problem BUDGET_NOT_FOUND, FORBIDDEN */
async function findManaged(db: Reader, caller: Caller, id: number): Promise<store.BudgetRow> {
  const row = await store.readBudget(db, id)
  if (!row) throw new Problem('BUDGET_NOT_FOUND')
  await requireManager(db, caller, row.scope, row.scopeId).catch((error: unknown) => {
    throw error instanceof Problem && error.status === 404
      ? new Problem('BUDGET_NOT_FOUND' satisfies NotFoundCode)
      : error
  })
  return row
}

/** @throws Problem CONFLICT naming another budget of the same scope, unit and period */
async function requireOnlyOne(tx: Transaction, budget: store.BudgetKind, id?: number): Promise<void> {
  const first = await store.findBudgetOfKind(tx, budget)
  if (first === undefined || first.id === id) return
  const now = await measureBudget(tx, first, tx.now)
  throw new Problem(
    'CONFLICT',
    `Budget ${first.id} already has this unit and period: ${describeSpent(now)}. Change that budget.`,
  )
}

/** Announces a new or changed budget, and pauses the running work under it if it is exhausted. */
async function announceChange(
  tx: Transaction,
  agents: Agents,
  id: number,
  type: 'budget.created' | 'budget.updated',
): Promise<MeasuredBudget> {
  const budget = await measureBudget(tx, (await store.readBudget(tx, id))!, tx.now)
  for (const projectId of await projectsToTell(tx, budget)) await appendEvent(tx, type, projectId, budgetView(budget))
  if (budget.state === 'exhausted') await pauseUnder(tx, agents, budget)
  return budget
}

/** The projects that are notified of a budget: its own, or those whose agents it currently limits. */
async function projectsToTell(tx: Transaction, row: store.BudgetRow): Promise<number[]> {
  if (row.ofProject !== null) return [row.ofProject]
  const open = await Promise.all((await store.listSessionsUnder(tx, row)).map(id => readSession(tx, id)))
  return [...new Set(open.flatMap(session => session?.projectId ?? []))]
}
