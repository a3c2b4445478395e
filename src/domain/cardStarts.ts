import { Problem } from '../contract/errors.ts'
import { bySystem, insertAuditRow } from '../store/audit.ts'
import { readCard, type CardRow } from '../store/cards.ts'
import type { Transaction } from '../store/database.ts'
import type { Caller } from './caller.ts'
import { changeCard, changeCardIfThere } from './cardChanges.ts'
import { announceReady } from './cardMoves.ts'
import { started } from './cards.ts'
import { findBlockade } from './dependencies.ts'
import { findStartProblem, notStarted, type Agents } from './sessions.ts'

/**
 * Starts a card whose time has come, if it stands idle in an active column: with the present rights of who set the time, or
 * why those are none. Elsewhere it is ready, which auto mode and columns that pull go by.
 */
export async function startInTime(
  tx: Transaction,
  agents: Agents,
  { projectId, id }: Pick<CardRow, 'projectId' | 'id'>,
  starter: Caller | string,
): Promise<void> {
  await changeCardIfThere(tx, { projectId, id }, { startHeld: false })
  const card = await readCard(tx, projectId, id)
  if (!card) return
  const stands = card.columnType === 'active' && card.archivedAt === null && card.status === 'idle'
  if (!stands) return void (await announceReady(tx, agents, [id], 'board'))
  const problem =
    (await findBlockade(tx, card)) ??
    (typeof starter === 'string'
      ? new Problem('FORBIDDEN', starter)
      : await findStartProblem(tx, agents, card, starter))
  // Over a budget it waits for that, too.
  const waits = problem?.code === 'BUDGET_EXHAUSTED'
  if (problem && !waits) return void (await changeCard(tx, card, { lastAgentAction: notStarted(tx, problem) }))
  const begun = await started(tx, agents, card, waits ? 'board' : (starter as Caller))
  if (begun.status === 'queued')
    insertAuditRow(tx, bySystem('agents.continue', { kind: 'card', id }, 'the time of its start has come'))
}
