import type { Log } from '../../config/log.ts'
import { spawnTree, type Child } from '../../process/spawn.ts'
import { stopTree } from '../../process/stop.ts'
import type { Database } from '../../store/database.ts'
import type { SpawnAgent } from '../link/agentLink.ts'
import { RunStopped } from './sessionEndings.ts'

/** The process trees of one run. Each is on record in the database until it is gone. */
export interface AgentProcesses {
  /** @throws RunStopped once the run is stopped */
  spawner(kind: 'agent' | 'terminal'): SpawnAgent
  /** Ends every process tree that was started. Asks first, and kills after `graceMs`. */
  terminate(graceMs?: number): Promise<void>
}

export function createAgentProcesses(
  { db, log }: { db: Database; log: Log },
  sessionId: number,
  stopped: AbortSignal,
): AgentProcesses {
  const children: Child[] = []
  return {
    spawner:
      kind =>
      async ({ argv, cwd, env }) => {
        if (stopped.aborted) throw new RunStopped()
        const child = await spawnTree({ command: argv, cwd, env, stdin: 'pipe', kind }, db)
        children.push(child)
        return child
      },
    async terminate(graceMs) {
      const gone = await Promise.all(children.map(child => stopTree(child, { graceMs })))
      if (gone.includes(false)) log('error', 'A process of an agent did not end.', { sessionId })
    },
  }
}
