import {
  isLimitOf,
  wholeLimit,
  type BudgetPeriod,
  type BudgetScope,
  type BudgetState,
  type BudgetUnit,
} from '../contract/budgets.ts'
import { invalid, Problem, type NotFoundCode } from '../contract/errors.ts'
import type { UsageGroup } from '../contract/usage.ts'
import { append } from '../events/outbox.ts'
import * as store from '../store/budgets.ts'
import { projectOfCard } from '../store/cards.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { readSession } from '../store/sessions.ts'
import { listUsageGroups, type UsageGroupRow } from '../store/usage.ts'
import { budget as budgetView } from '../views/budgets.ts'
import { organizationRole, requireRole } from './access.ts'
import { periodAt } from './budgetPeriods.ts'
import { pauseUnder } from './budgetPauses.ts'
import { describeSpent, measure, measureFrom, stateOf, type MeasuredBudget } from './budgetState.ts'
import { isAdmin, type Caller } from './caller.ts'
import * as credentials from './credentials.ts'
import * as organizations from './organizations.ts'
import * as projects from './projects.ts'
import type { Agents } from './sessions.ts'

export interface NewBudget {
  scope: BudgetScope
  scopeId: number
  unit: BudgetUnit
  limit: number
  period: BudgetPeriod
}
/** What a list is about; none: all that the caller may see. */
export interface About {
  projectId?: number
  cardId?: number
  organizationId?: number
  credentialId?: number
}

/**
 * The budgets that the caller may see: of the projects that they see and their cards, of their organizations, of their own credentials.
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
  return Promise.all(rows.map(row => measure(db, row, now)))
}

/** The budgets that bound a project's agents. Whoever works there sees them, for they stop their work, too. */
export const listProject = async (db: Reader, projectId: number, now: string): Promise<MeasuredBudget[]> =>
  Promise.all((await store.listBudgetsInProject(db, projectId)).map(row => measure(db, row, now)))

/** How many budgets there are, by their states. */
export async function countByState(db: Reader, now: string): Promise<Record<BudgetState, number>> {
  const states = await Promise.all(
    (await store.listAllBudgets(db)).map(async row => (await measure(db, row, now)).state),
  )
  const count = (state: BudgetState) => states.filter(each => each === state).length
  return { ok: count('ok'), warned: count('warned'), exhausted: count('exhausted') }
}

/**
 * Makes a budget. What was used before in its period counts, so that it may be used up at once.
 * @throws Problem CARD_NOT_FOUND, PROJECT_NOT_FOUND, ORGANIZATION_NOT_FOUND, CREDENTIAL_NOT_FOUND, FORBIDDEN, CONFLICT where there is one
 *   of the same unit and period
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
    told: stateOf(used.spent, limit),
  })
  return changed(tx, agents, id, 'budget.created')
}

/**
 * Changes a budget. Sessions that wait for it go on once that is written, where it allows them now.
 * @throws Problem BUDGET_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED, CONFLICT where there is one of the same unit and period
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
    told: stateOf(used.spent, limit),
  })
  agents.reconcile(tx)
  return changed(tx, agents, id, 'budget.updated')
}

/** Deletes a budget. What waits for it goes on. @throws Problem BUDGET_NOT_FOUND, FORBIDDEN */
export async function remove(tx: Transaction, agents: Agents, caller: Caller, id: number): Promise<void> {
  const row = await findManaged(tx, caller, id)
  const told = await projectsToTell(tx, row)
  store.deleteBudget(tx, id)
  for (const projectId of told) await append(tx, 'budget.deleted', projectId, { id: String(id) })
  agents.reconcile(tx)
}

/** What agents have used in the projects that the caller sees; administrators also see it of deleted ones. @throws Problem as `list` */
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
  const missing = () => new Problem('CARD_NOT_FOUND')
  const projectId = await projectOfCard(db, cardId)
  if (projectId === undefined) throw missing()
  await requireRole(db, caller, projectId, role, missing)
}

/** A card's and a project's budgets are its project's admins' to manage, an organization's its admins', a credential's its owner's. */
async function requireManager(db: Reader, caller: Caller, scope: BudgetScope, scopeId: number): Promise<void> {
  if (scope === 'card') await requireCard(db, caller, scopeId, 'admin')
  else if (scope === 'project') await requireRole(db, caller, scopeId, 'admin', () => new Problem('PROJECT_NOT_FOUND'))
  else if (scope === 'organization') await organizations.administered(db, caller, scopeId)
  else await credentials.find(db, caller, scopeId)
}

/** A budget that the caller may change. What they may not see is not there. @throws Problem BUDGET_NOT_FOUND, FORBIDDEN */
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
  const now = await measure(tx, first, tx.now)
  throw new Problem(
    'CONFLICT',
    `Budget ${first.id} has that unit and period already: ${describeSpent(now)}. Change that one.`,
  )
}

/** Announces a budget that was made or changed, and pauses what is at work under it where it is used up. */
async function changed(
  tx: Transaction,
  agents: Agents,
  id: number,
  type: 'budget.created' | 'budget.updated',
): Promise<MeasuredBudget> {
  const budget = await measure(tx, (await store.readBudget(tx, id))!, tx.now)
  for (const projectId of await projectsToTell(tx, budget)) await append(tx, type, projectId, budgetView(budget))
  if (budget.state === 'exhausted') await pauseUnder(tx, agents, budget)
  return budget
}

/** The projects that hear of a budget: its own, or those whose agents it bounds at the moment. */
async function projectsToTell(tx: Transaction, row: store.BudgetRow): Promise<number[]> {
  if (row.ofProject !== null) return [row.ofProject]
  const open = await Promise.all((await store.listSessionsUnder(tx, row)).map(id => readSession(tx, id)))
  return [...new Set(open.flatMap(session => session?.projectId ?? []))]
}
