import type { AgentProcesses } from './agentProcesses.ts'

/**
 * The share of a core below which processes count as idle. Agents whose model never answered used 0.1 % (Codex, Gemini, Copilot) to
 * 0.8 % (Claude, Qwen) in a minute, and OpenCode without any work 2.6 to 3.7 %, on a busy machine.
 */
const idleShare = 0.05

/** Tells whether a session's processes work, by the processor time that they use. */
export class ProcessorUse {
  readonly #processes: Pick<AgentProcesses, 'usage'>
  readonly #windowMs: number
  #since: { atMs: number; cpuMs: number } | undefined

  /** @param windowMs over how long the share is taken */
  constructor(processes: Pick<AgentProcesses, 'usage'>, windowMs: number) {
    this.#processes = processes
    this.#windowMs = windowMs
  }

  /** Forgets what was used. */
  reset(): void {
    this.#since = undefined
  }

  /** Whether the processes have worked since they were last found to, at most a window ago, and how long that was looked at. */
  async measure(): Promise<{ haveWorked: boolean; forMs: number }> {
    const { cpuMs } = await this.#processes.usage()
    const now = { atMs: performance.now(), cpuMs }
    const since = (this.#since ??= now)
    // What a process has used is gone with it, where nobody waited for it.
    if (cpuMs < since.cpuMs) since.cpuMs = cpuMs
    const haveWorked = cpuMs - since.cpuMs >= idleShare * this.#windowMs
    const forMs = now.atMs - since.atMs
    if (haveWorked || forMs >= this.#windowMs) this.#since = now
    return { haveWorked, forMs }
  }
}
