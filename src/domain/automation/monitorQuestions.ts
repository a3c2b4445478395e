import { Problem } from '../../contract/errors.ts'
import { appendAgentEvent } from '../../events/agentEvent.ts'
import { appendEvent } from '../../events/outbox.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { readMonitor, updateMonitor, type MonitorPermission, type MonitorRow } from '../../store/automation/monitors.ts'
import { readProject, sandboxOf } from '../../store/projects/projects.ts'
import { readSession } from '../../store/agents/sessions.ts'
import { permission as permissionEvent } from '../../views/agents.ts'
import { monitor as view, monitorRequest } from '../../views/monitors.ts'
import type { Caller } from '../accounts/caller.ts'
import { announceCard } from '../cards/cardChanges.ts'
import { requireMayStart } from '../cards/startPermission.ts'

/**
 * The initial permission of a new monitor. A monitor of a sandboxed session is allowed if the project's setting allows it; otherwise users
 * are asked. An agent without a sandbox already has the server's permissions. A token that a user created is valid while that user is a
 * member, and members can run scripts.
 * @throws Problem FORBIDDEN for a token without a session and a person
 */
export async function permissionFor(db: Reader, caller: Caller, projectId: number): Promise<MonitorPermission> {
  const { sessionId = null, userId = null } = caller.agent ?? {}
  if (sessionId === null) {
    if (userId === null)
      throw new Problem('FORBIDDEN', 'Only agents and people who can run scripts can create monitors.')
    return 'allowed'
  }
  const [session, project] = [await readSession(db, sessionId), await readProject(db, projectId)]
  const { kind } = JSON.parse(session?.sandbox ?? '{}') as { kind?: string }
  return kind === 'none' || (project && sandboxOf(project).monitors === 'allow') ? 'allowed' : 'asked'
}

/** Appends the events that ask users whether a session's new monitor can run. */
export async function announceQuestion(tx: Transaction, row: MonitorRow, sessionId: number): Promise<void> {
  await appendAgentEvent(
    tx,
    'agent.permission',
    row,
    permissionEvent({ id: sessionId, cardId: row.cardId }, monitorRequest(row)),
  )
  await announceCard(tx, 'card.updated', { id: row.cardId, projectId: row.projectId })
}

/**
 * Records whether a monitor can run. An allowed monitor is due immediately, or paused if its card has left active execution. A rejected
 * monitor never runs.
 * @throws Problem INSUFFICIENT_PERMISSIONS to allow it without the permission to run scripts, NOTHING_TO_APPROVE if it was answered
 */
export async function answerQuestion(
  tx: Transaction,
  id: number,
  { approved, feedback, caller }: { approved: boolean; feedback: string; caller: Caller },
): Promise<MonitorRow> {
  if (approved) requireMayStart(caller, 'terminal')
  const before = await readMonitor(tx, id)
  if (before?.permission !== 'asked') throw new Problem('NOTHING_TO_APPROVE')
  const answer = approved
    ? ({ permission: 'allowed', nextRunAt: tx.now } as const)
    : ({
        permission: 'rejected',
        status: 'rejected',
        error: `${caller.displayName || 'A person'} rejected it${feedback ? `: ${feedback}` : '.'}`,
      } as const)
  await updateMonitor(tx, id, answer)
  const row = (await readMonitor(tx, id))!
  await appendEvent(tx, 'monitor.updated', row.projectId, view(row))
  await announceCard(tx, 'card.updated', { id: row.cardId, projectId: row.projectId })
  return row
}
