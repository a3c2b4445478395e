import { logFailure } from '../../config/log.ts'
import { change, isOpen, type LandingQueue } from '../../domain/cards/landings.ts'
import { createReconciler, type Reconciler, type ServerAccess } from '../../process/reconciler.ts'
import type { Transaction } from '../../store/engine/database.ts'
import {
  listAwaitingLanding,
  listQueuedLandings,
  readLanding,
  type LandingRow,
  type QueuedLanding,
} from '../../store/forges/landings.ts'
import { hasActiveAgent } from '../../views/cards.ts'
import type { CheckDependencies } from '../checkRun.ts'
import { admitCard, readmitCard } from './admitCard.ts'
import { agentStarted, landEntry, Postponed, type LandingDependencies, type LiveLanding } from './landEntry.ts'
import { rejectLanding } from './rejectLanding.ts'

/** The time after which an entry that cannot be merged yet is tried again. */
const retryMs = 5000
const maxFailures = 3
const unexpected = "The merge failed. The server's log has the details."

/** Merges the cards of the landing queues, one at a time for each branch. */
export interface LandingRunner extends LandingQueue {
  /** The output of gates that run for a merge, by proof. */
  output(proofId: number): { output: string; outputStart: number } | undefined
  /** Whether a card is being merged. */
  isAtWork(cardId: number): boolean
  /** Starts the queues. */
  start(server: ServerAccess): void
  /** Stops the tests, which begin again at the next start. Takes at most 9 s. */
  stop(): Promise<void>
}

interface QueuedWork extends LiveLanding {
  landing: QueuedLanding
  over: Promise<void>
}

export const createLandingRunner = (dependencies: LandingDependencies): LandingRunner => new Landings(dependencies)

class Landings implements LandingRunner {
  readonly #dependencies: LandingDependencies
  /** By project and branch. */
  readonly #live = new Map<string, QueuedWork>()
  /** The unexpected failures of an entry, by its ID. */
  readonly #failures = new Map<number, number>()
  readonly #reconciler: Reconciler

  constructor(dependencies: LandingDependencies) {
    this.#dependencies = dependencies
    this.#reconciler = createReconciler('The landing queue', () => this.#reconcile(), dependencies)
  }

  reconcile(tx: Transaction): void {
    tx.afterCommit(this.#reconciler.wake)
  }

  output(proofId: number): { output: string; outputStart: number } | undefined {
    for (const { test } of this.#live.values()) {
      const output = test?.output(proofId)
      if (output) return output
    }
    return undefined
  }

  isAtWork(cardId: number): boolean {
    return [...this.#live.values()].some(({ landing }) => landing.cardId === cardId)
  }

  start(server: ServerAccess): void {
    this.#reconciler.start(server)
  }

  stop(): Promise<void> {
    return this.#reconciler.stop(this.#live, stopTest)
  }

  async #reconcile(): Promise<void> {
    for (const ref of await listAwaitingLanding(this.#dependencies.db)) await admitCard(this.#dependencies, this, ref)
    const queued = await listQueuedLandings(this.#dependencies.db)
    for (const live of this.#live.values()) {
      const row = queued.find(({ id }) => id === live.landing.id)
      if (!row || !isOpen(row)) stopTest(live, 'It was removed from the queue.')
      else if (hasActiveAgent({ status: row.cardStatus })) stopTest(live, agentStarted)
    }
    for (const landing of queued) {
      if (this.#reconciler.isOver) return
      if (!isOpen(landing)) {
        if (await readmitCard(this.#dependencies, landing)) this.#reconciler.wake()
      } else if (landing.status === 'testing' || landing.isPaused === 0) this.#begin(landing)
    }
  }

  /** Begins with an entry if it is the first of its branch. */
  #begin(landing: QueuedLanding): void {
    const key = `${landing.projectId} ${landing.branch}`
    if (this.#live.has(key)) return
    const live: QueuedWork = { landing, test: undefined, stopReason: null, over: Promise.resolve() }
    this.#live.set(key, live)
    live.over = this.#land(live).then(isPostponed => {
      if (isPostponed) setTimeout(() => this.#release(key), retryMs).unref()
      else this.#release(key)
    })
  }

  #release(key: string): void {
    this.#live.delete(key)
    this.#reconciler.wake()
  }

  /** Takes an entry to its end, or postpones it. Never rejects. @returns whether it was postponed */
  async #land(live: QueuedWork): Promise<boolean> {
    const { landing } = live
    try {
      const rejection = await landEntry(this.#work(), live)
      if (rejection) await rejectLanding(this.#dependencies, landing, rejection)
      this.#failures.delete(landing.id)
      return false
    } catch (error) {
      if (this.#reconciler.isOver) return false
      if (error instanceof Postponed) await this.#postpone(landing, error.message).catch(() => {})
      else await this.#noteFailure(landing, error).catch(() => {})
      return true
    }
  }

  #work(): CheckDependencies & LandingDependencies {
    return { ...this.#dependencies, ...this.#reconciler.server! }
  }

  async #postpone({ id }: LandingRow, reason: string): Promise<void> {
    await this.#dependencies.db.transaction(async tx => {
      const row = await readLanding(tx, id)
      if (row && isOpen(row) && (row.status !== 'waiting' || row.reason !== reason))
        await change(tx, id, { status: 'waiting', reason })
    })
  }

  /** An entry that fails again and again leaves the queue, so that the others continue. */
  async #noteFailure(landing: LandingRow, error: unknown): Promise<void> {
    const { id, cardId } = landing
    logFailure(this.#reconciler.server!.log, 'A card could not be merged.', error, { cardId })
    const failures = (this.#failures.get(id) ?? 0) + 1
    this.#failures.set(id, failures)
    if (failures < maxFailures) return this.#postpone(landing, unexpected)
    this.#failures.delete(id)
    return rejectLanding(this.#dependencies, landing, { reason: unexpected })
  }
}

function stopTest(live: LiveLanding, reason: string): void {
  live.stopReason ??= reason
  live.test?.stop(live.stopReason)
}
