import type { Writable } from 'node:stream'
import type { Log } from '../../config/log.ts'
import type { Child, ProcessTrees, ProcessUsage } from '../../process/spawn.ts'
import type { AgentCommand } from '../link/agentLink.ts'
import { RunStopped } from './sessionEndings.ts'
import type { RunSandbox } from './sandbox/runSandbox.ts'

/** The process trees of one run. The database records each tree until it has ended. */
export interface AgentProcesses {
  /** Starts processes in the sandbox. @throws RunStopped once the run is stopped */
  spawner(kind: 'agent' | 'terminal', sandbox: RunSandbox): (command: AgentCommand) => Promise<Child<Writable>>
  /** The total resource usage of the run's processes. */
  usage(): Promise<ProcessUsage>
  /** Ends every started process tree: sends a termination signal, then kills after `graceMs`. */
  terminate(graceMs?: number): Promise<void>
}

export function createAgentProcesses(
  { processTrees, log }: { processTrees: ProcessTrees; log: Log },
  sessionId: number,
  stopped: AbortSignal,
): AgentProcesses {
  const children: Child[] = []
  return {
    spawner: (kind, sandbox) => async command => {
      const wrapped = await sandbox.wrap(command)
      if (stopped.aborted) throw new RunStopped()
      const child = await processTrees.spawn({ ...wrapped, stdin: 'pipe', kind })
      children.push(child)
      return child
    },
    usage: async () => {
      const all = await Promise.all(children.map(child => child.usage()))
      return {
        processes: all.reduce((sum, { processes }) => sum + processes, 0),
        memoryBytes: all.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
        cpuMs: all.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
      }
    },
    async terminate(graceMs) {
      const gone = await Promise.all(children.map(child => child.stop({ graceMs })))
      if (gone.includes(false)) log('error', 'A process of an agent did not end.', { sessionId })
    },
  }
}
