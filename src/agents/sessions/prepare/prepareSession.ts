import { logFailure } from '../../../config/log.ts'
import { refusalAsLaunchFailure } from '../../link/exitFailures.ts'
import { RunStopped } from '../sessionEndings.ts'
import { buildLaunch } from './buildLaunch.ts'
import { openSandbox } from './openSandbox.ts'
import { prepareCommands } from './prepareCommands.ts'
import { prepareWorkplace } from './prepareWorkplace.ts'
import { readAgent, readRecords } from './readRecords.ts'
import type { SessionStart, SessionSteps, Step, WithCommands } from './sessionContext.ts'
import { takeCredential } from './takeCredential.ts'

/** The steps of a start, in order. The card keeps its worktree, and the end of the session revokes its token. */
export const sessionSteps: SessionSteps = [
  { run: readRecords },
  { run: readAgent },
  { run: prepareWorkplace },
  { run: takeCredential },
  { run: buildLaunch, undo: ({ promptFiles }) => promptFiles.remove() },
  { run: openSandbox, undo: ({ sandbox }) => sandbox.close() },
  { run: prepareCommands },
]

export interface PreparedSession extends WithCommands {
  /** Undoes the steps in reverse order, once the session's processes have ended. Never rejects. */
  close(): Promise<void>
}

/**
 * Prepares a session by its steps, in order. If a step fails, or the session ends, the finished steps are undone in reverse order.
 * @throws AgentFailure launch_failed, Problem of the store, RunStopped if the session was ended
 */
export async function prepareSession(
  start: SessionStart,
  steps: ReadonlyArray<Step<WithCommands, WithCommands>> = sessionSteps,
): Promise<PreparedSession> {
  const undos: Array<() => Promise<void> | undefined> = []
  const close = async () => {
    for (const undo of undos.splice(0).toReversed()) {
      try {
        await undo()
      } catch (error) {
        const { dependencies, session } = start
        logFailure(dependencies.log, 'A part of a session could not be closed.', error, { sessionId: session.id })
      }
    }
  }
  // The context is complete after the last step: the type of the list ensures that no step reads a field too early.
  let context = start as WithCommands
  try {
    for (const step of steps) {
      const after = { ...context, ...(await step.run(context)) }
      undos.push(() => step.undo?.(after))
      if (start.record.isStopped()) throw new RunStopped()
      context = after
    }
    return { ...context, close }
  } catch (error) {
    await close()
    throw refusalAsLaunchFailure(error)
  }
}
