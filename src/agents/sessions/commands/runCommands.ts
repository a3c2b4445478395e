import { stat, writeFile } from 'node:fs/promises'
import { AgentFailure, type AgentListener } from '../../link/agentLink.ts'
import type { AgentProcesses } from '../agentProcesses.ts'
import type { RunSandbox } from '../sandbox/runSandbox.ts'
import { runWorktreeCommand, type CommandPlace, type WorktreeCommand } from './worktreeCommands.ts'

/** The commands of a project around one session. */
export interface SessionCommands extends CommandPlace {
  /**
   * The path of a file that exists after setup has run in this worktree. Null if setup does not run, because the folder
   * belongs to a user.
   */
  setUpMark: string | null
  /** Describes the submodules that the commands left empty. Returns null if there are none. */
  describeEmptySubmodules: () => Promise<string | null>
}

/** Runs a project's commands around the session of an agent, with their output in its transcript. */
export class RunCommands {
  readonly #processes: Pick<AgentProcesses, 'spawner'>
  #hasBegun = false
  #run: { commands: SessionCommands; sandbox: RunSandbox; update: AgentListener['update'] } | undefined

  constructor(processes: Pick<AgentProcesses, 'spawner'>) {
    this.#processes = processes
  }

  /**
   * Runs setup, unless it has run in this worktree, and beforeRun.
   * @returns a note for people about a new worktree; null if there is none
   * @throws AgentFailure setup_failed
   */
  async before(
    commands: SessionCommands | null,
    sandbox: RunSandbox,
    update: AgentListener['update'],
  ): Promise<string | null> {
    if (!commands) return null
    this.#run = { commands, sandbox, update }
    const { setUpMark } = commands
    const isNew = setUpMark !== null && !(await stat(setUpMark).catch(() => undefined))
    if (isNew) {
      await this.#command('setup')
      await writeFile(setUpMark, '', { mode: 0o600 })
    }
    await this.#command('beforeRun')
    this.#hasBegun = true
    return isNew ? commands.describeEmptySubmodules() : null
  }

  /** Runs afterRun if the agent has begun. Its failure is in the transcript and changes nothing else: the agent's work is done. */
  async after(): Promise<void> {
    if (!this.#hasBegun) return
    await this.#command('afterRun').catch((error: unknown) => {
      if (!(error instanceof AgentFailure)) throw error
    })
  }

  async #command(which: WorktreeCommand): Promise<void> {
    if (!this.#run) return
    const { commands, sandbox, update } = this.#run
    await runWorktreeCommand(which, { ...commands, spawn: this.#processes.spawner('agent', sandbox), update })
  }
}
