import type { AgentLink } from '../../link/agentLink.ts'
import type { UsageMeter } from './usageMeter.ts'

const lateUpdatesMs = 5000

/** Ends the session of a run, and then receives the updates that some agents send after the end of their last turn. */
export class LateUpdates {
  /** Resolves when the run needs no slot, because its session has ended. */
  readonly sessionEnded: Promise<void>
  #phase: 'working' | 'ending' | 'receiving' = 'working'
  #resolveEnded: () => void = () => {}
  #turnEndedAtMs = 0

  constructor() {
    this.sessionEnded = new Promise(resolve => {
      this.#resolveEnded = resolve
    })
  }

  /** Whether the run has ended its session, or is ending it. */
  get isEnding(): boolean {
    return this.#phase !== 'working'
  }

  /** Whether the session has ended, and the run only receives late updates. */
  get isReceiving(): boolean {
    return this.#phase === 'receiving'
  }

  recordTurnEnd(): void {
    this.#turnEndedAtMs = performance.now()
  }

  /**
   * Ends the session with `write`. If `write` fails or returns a prompt, the session continues.
   * @returns the prompt
   */
  async endSession<T>(write: () => Promise<T | undefined>): Promise<T | undefined> {
    let hasEnded = false
    this.#phase = 'ending'
    try {
      const next = await write()
      hasEnded = next === undefined
      return next
    } finally {
      if (!hasEnded) this.#phase = 'working'
    }
  }

  /** Receives updates after the end of the session, until 5 s after its last turn or until `signal` aborts. Never rejects. */
  async receive(link: AgentLink | undefined, usage: UsageMeter, signal: AbortSignal): Promise<void> {
    const leftMs = this.#turnEndedAtMs + lateUpdatesMs - performance.now()
    const isExpected = this.isEnding && link?.exited && leftMs > 0 && !signal.aborted
    if (isExpected) {
      usage.setWorking(false)
      this.#phase = 'receiving'
    }
    this.#resolveEnded()
    // Fails if the session was deleted.
    if (isExpected) await link.receiveLate(leftMs, signal).catch(() => {})
  }
}
