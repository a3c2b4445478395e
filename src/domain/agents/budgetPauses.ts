import { appendEvent } from '../../events/outbox.ts'
import { bySystem, insertAuditRow } from '../../store/server/audit.ts'
import {
  listBudgetsOf,
  listSessionsUnder,
  noteSpent,
  type BudgetRow,
  type Spender,
} from '../../store/agents/budgets.ts'
import { readCard, type CardRow } from '../../store/cards/cards.ts'
import type { Database, Reader, Transaction } from '../../store/engine/database.ts'
import { readSession, type OpenSession, type SessionRow } from '../../store/agents/sessions.ts'
import type { UsageDelta } from '../../store/agents/usage.ts'
import { reachedBudget } from '../../views/budgets.ts'
import {
  amountOf,
  describeExhausted,
  findExhausted,
  measureBudget,
  stateOf,
  type MeasuredBudget,
} from './budgetState.ts'
import { findSessionBlockade } from './blockedSessions.ts'
import { isPaused, waitsWithoutRun } from './sessionStates.ts'
import { awaitAnswer, listQuestions } from './sessionWaits.ts'
import { announce, changeStatus, noSlot, noWait, type Agents } from './sessions.ts'

/** Resuming hundreds of sessions in one transaction exceeds a libSQL server's transaction timeout. */
const maxResumedPerCommit = 20

/** Whether a session's run is already counted: it is working, or continues after an automatic wait. */
export const hasBegun = ({
  status,
  statusReason,
  startedAt,
}: Pick<SessionRow, 'status' | 'statusReason' | 'startedAt'>) => ({
  hasRun: startedAt !== null && (status !== 'queued' || statusReason === 'budget' || statusReason === 'usage_limit'),
})

/** Makes an open session wait until a budget allows it to continue, or for the answer to its question, and ends its processes. */
async function pauseSession(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  budget: MeasuredBudget,
): Promise<void> {
  if (waitsWithoutRun(session) || session.purpose === 'terminal') return
  const [oldest, ...others] = listQuestions(session)
  if (oldest) return void (await awaitAnswer(tx, agents, session, [oldest, ...others], session))
  const detail = describeExhausted(budget)
  const waiting = {
    status: 'waiting',
    statusReason: 'budget',
    detail,
    waitingFor: null,
    ...noWait,
    ...noSlot,
  } as const
  if (!(await changeStatus(tx, session, waiting))) return
  await agents.revokeTokens(tx, { sessionId: session.id })
  agents.terminate(tx, session.id)
  await announce(tx, session.id, {}, { type: 'waiting', detail })
}

/**
 * Counts an agent's usage on its budgets. A budget that reaches 80% or 100% triggers one notification per period for each. At 100%, all
 * work under the budget pauses. A limit on runs pauses nothing, because the last allowed run can finish its work.
 */
export async function chargeUsage(
  tx: Transaction,
  agents: Agents,
  spender: Spender,
  delta: UsageDelta,
  sessionId: number,
): Promise<{ hasHours: boolean }> {
  const rows = await listBudgetsOf(tx, spender)
  for (const row of rows)
    await chargeOne(tx, agents, row, delta, { cardId: spender.cardId, projectId: spender.projectId, sessionId })
  return { hasHours: rows.some(({ unit }) => unit === 'hours') }
}

async function chargeOne(
  tx: Transaction,
  agents: Agents,
  row: BudgetRow,
  delta: UsageDelta,
  by: { cardId: number; projectId: number; sessionId: number },
): Promise<void> {
  const before = await measureBudget(tx, row, tx.now)
  const added = amountOf[row.unit](delta)
  // A freshly measured budget already includes the report.
  const present = before.periodStart === row.periodStart
  const spent = present ? before.spent + added.spent : before.spent
  const unknownRuns = Math.max(0, present ? before.unknownRuns + added.unknownRuns : before.unknownRuns)
  const state = stateOf(spent, row.amount)
  const now: MeasuredBudget = { ...before, spent, unknownRuns, state }
  const isNewState = isMore(state, before.notifiedState)
  noteSpent(tx, { ...now, notifiedState: isNewState ? state : before.notifiedState })
  if (isNewState)
    await appendEvent(
      tx,
      state === 'exhausted' ? 'budget.exhausted' : 'budget.warned',
      by.projectId,
      reachedBudget(now, by.cardId),
    )
  if (state === 'exhausted') await pauseUnder(tx, agents, now, isNewState ? undefined : by.sessionId)
}

const order = ['ok', 'warned', 'exhausted']
const isMore = (state: string, earlier: string): boolean => order.indexOf(state) > order.indexOf(earlier)

/** Pauses the running work under an exhausted budget, or only one session of it. */
export async function pauseUnder(
  tx: Transaction,
  agents: Agents,
  budget: MeasuredBudget,
  only?: number,
): Promise<void> {
  if (budget.unit === 'runs') return
  for (const id of only === undefined ? await listSessionsUnder(tx, budget) : [only]) {
    const session = await readSession(tx, id)
    if (session && (session.status === 'running' || session.status === 'waiting'))
      await pauseSession(tx, agents, session, budget)
  }
}

/** Holds a session while a budget is exhausted. Returns whether the session is held. */
export async function holdBack(
  tx: Transaction,
  agents: Agents,
  session: SessionRow,
  spender: Spender = session,
): Promise<boolean> {
  if (session.purpose === 'terminal') return false
  const exhausted = await findExhausted(tx, spender, tx.now, hasBegun(session))
  if (exhausted) await pauseSession(tx, agents, session, exhausted)
  return exhausted !== undefined
}

/**
 * Queues the paused sessions that are no longer held back, in order. The others record the reason for their wait.
 */
export async function resumePaused(
  db: Database,
  agents: Agents,
  paused: readonly Pick<OpenSession, 'id'>[],
  now: string,
): Promise<void> {
  const changed: number[] = []
  for (const { id } of paused) {
    const session = await readSession(db, id)
    if (session && (await findWait(db, agents, session, now)) !== session.detail) changed.push(id)
  }
  for (let from = 0; from < changed.length; from += maxResumedPerCommit)
    await db.transaction(async tx => {
      for (const id of changed.slice(from, from + maxResumedPerCommit)) await resumeSession(tx, agents, id)
    })
}

/** The reason why a paused session still waits: a budget, or a blocker or time that its card got before its work started. */
async function findWait(db: Reader, agents: Agents, session: SessionRow, now: string): Promise<string | undefined> {
  const card = await readCard(db, session.projectId, session.cardId)
  const spender = await spenderOf(db, agents, session, card)
  const exhausted = await findExhausted(db, spender, now, hasBegun(session))
  return exhausted ? describeExhausted(exhausted) : findSessionBlockade(db, session, now)
}

/**
 * The session's account, with the credential that its card uses now, because its agent gets that credential when it continues.
 */
async function spenderOf(db: Reader, agents: Agents, session: SessionRow, card: CardRow | undefined): Promise<Spender> {
  if (!card || session.askedCredentialId !== null) return session
  const choice = await agents.choose(db, card)
  const isSame = !('missing' in choice) && choice.agent === session.agent && choice.profile === session.profile
  return isSame ? { ...session, credentialId: choice.credentialId } : session
}

async function resumeSession(tx: Transaction, agents: Agents, id: number): Promise<void> {
  const session = await readSession(tx, id)
  if (!session || !isPaused(session)) return
  const detail = await findWait(tx, agents, session, tx.now)
  if (detail !== undefined) {
    if (await changeStatus(tx, session, { status: 'waiting', detail }))
      await announce(tx, id, {}, { type: 'waiting', detail })
    return
  }
  const card = await readCard(tx, session.projectId, session.cardId)
  const { credentialId } = await spenderOf(tx, agents, session, card)
  const queued = { status: 'queued', statusReason: 'budget', detail: null, credentialId } as const
  if (!(await changeStatus(tx, session, queued))) return
  agents.reconcile(tx)
  await announce(tx, id, {}, { type: 'queued', detail: session.agent })
  insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id: session.cardId }, 'budget'))
}
