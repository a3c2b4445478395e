import { queueMessage } from '../agents/sessions/queue/queuedMessages.ts'
import { finish, type RunResult } from '../domain/automation/monitorRuns.ts'
import { findOpen } from '../domain/agents/sessions.ts'
import type { Transaction } from '../store/engine/database.ts'
import type { MonitorRow } from '../store/automation/monitors.ts'

const maxQuotedLength = 2000

/** Stores a run's result. A working agent of the card is notified when the outcome changed. */
export async function keepResult(tx: Transaction, id: number, result: RunResult, nextRunAt: string): Promise<void> {
  const finished = await finish(tx, id, result, nextRunAt)
  if (!finished || (finished.before === null && finished.monitor.outcome === 'ok')) return
  const session = await findOpen(tx, finished.monitor.cardId)
  if (session) await queueMessage(tx, session, agentMessage(finished.monitor))
}

/** The message for the agent. */
function agentMessage({ id, description, command, status, exitCode, error, output }: MonitorRow): string {
  const name = `Monitor ${id}${description ? ` (${description})` : ''}`
  if (status === 'ok') return `${name} is ok again: ${command}`
  const why = error ?? `The command ended with exit code ${exitCode}.`
  const last = output.trim().slice(-maxQuotedLength).toWellFormed()
  return [`${name} is no longer ok (${status}): ${command}`, why, ...(last ? [`Its last output:\n${last}`] : [])].join(
    '\n\n',
  )
}
