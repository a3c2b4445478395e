import type { AgentLink } from '../../link/agentLink.ts'
import type { UsageMeter } from './usageMeter.ts'

/** Some agents send the last updates of a turn after its end. */
const lateUpdatesMs = 5000

/** Ends the session of a run, and then receives updates of its agent for a short time. */
export class LateUpdates {
  /** Resolves when the run needs no slot: its session has ended. */
  readonly sessionEnded: Promise<void>
  /** Whether the run ends its session, or has ended it. */
  isEnding = false
  /** Whether the session has ended, and the run only receives late updates. */
  isReceiving = false
  #resolve: () => void = () => {}
  #turnEndedAtMs = 0

  constructor() {
    this.sessionEnded = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  turnEnded(): void {
    this.#turnEndedAtMs = performance.now()
  }

  /** Writes the end of the session, or takes the next prompt instead. */
  async end<T>(write: () => Promise<T | undefined>): Promise<T | undefined> {
    this.isEnding = true
    let next: T | undefined
    try {
      next = await write()
    } catch (error) {
      this.isEnding = false
      throw error
    }
    this.isEnding = next === undefined
    return next
  }

  /** Receives updates after the end of the session, until 5 s after its last turn or until `signal` aborts. Never rejects. */
  async receive(link: AgentLink | undefined, usage: UsageMeter, signal: AbortSignal): Promise<void> {
    const leftMs = this.#turnEndedAtMs + lateUpdatesMs - performance.now()
    const isExpected = this.isEnding && link?.exited && leftMs > 0 && !signal.aborted
    if (isExpected) {
      usage.setWorking(false)
      this.isReceiving = true
    }
    this.#resolve()
    // Fails if the session was deleted.
    if (isExpected) await link.receiveLate(leftMs, signal).catch(() => {})
  }
}
