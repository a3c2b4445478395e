import type { AgentProcesses } from '../agentProcesses.ts'

/**
 * The share of a core below which processes count as idle. Agents whose model never answered used 0.1 % (Codex, Gemini, Copilot) to
 * 0.8 % (Claude, Qwen) in a minute, and OpenCode without any work 2.6 to 3.7 %, on a busy machine.
 */
const idleShare = 0.05

/** Measures whether a session's processes work, by their CPU time. */
export class ProcessorUse {
  readonly #processes: Pick<AgentProcesses, 'usage'>
  readonly #windowMs: number
  #since: { atMs: number; cpuMs: number } | undefined

  /** @param windowMs the interval over which the share is measured */
  constructor(processes: Pick<AgentProcesses, 'usage'>, windowMs: number) {
    this.#processes = processes
    this.#windowMs = windowMs
  }

  /** Discards the measured usage. */
  reset(): void {
    this.#since = undefined
  }

  /**
   * Returns whether the processes have worked since work was last found, at most one window ago, and the length of the
   * measured interval.
   */
  async measure(): Promise<{ haveWorked: boolean; forMs: number }> {
    const { cpuMs } = await this.#processes.usage()
    const now = { atMs: performance.now(), cpuMs }
    const since = (this.#since ??= now)
    // If nothing waited for a process, its CPU time is lost when it exits.
    if (cpuMs < since.cpuMs) since.cpuMs = cpuMs
    const haveWorked = cpuMs - since.cpuMs >= idleShare * this.#windowMs
    const forMs = now.atMs - since.atMs
    if (haveWorked || forMs >= this.#windowMs) this.#since = now
    return { haveWorked, forMs }
  }
}
