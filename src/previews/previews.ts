import { logFailure } from '../config/log.ts'
import { peerUidReader } from '../system/socketOwner.ts'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import { maxPreviews, type Preview, type PreviewState } from '../contract/automation/previews.ts'
import type { CardRef } from '../domain/cards/cards.ts'
import { planPreview, type PreviewPlan } from './planPreview.ts'
import { appendEvent, type Outbox } from '../events/outbox.ts'
import { createReconciler, withinStop, type Reconciler, type ServerAccess } from '../process/reconciler.ts'
import type { ProcessTrees } from '../process/spawn.ts'
import { readCard } from '../store/cards/cards.ts'
import type { Database } from '../store/engine/database.ts'
import { retryWhileBusy } from '../store/engine/retry.ts'
import type { SandboxDependencies } from '../agents/sessions/sandbox/projectSandbox.ts'
import type { CanOpen } from './previewGate.ts'
import { previewUrl } from './previewProxy.ts'
import { notRunning, PreviewRun } from './previewRun.ts'

/** The number of failed previews that are kept with their output. */
const maxFailed = 100

/** Serves worktrees of cards while users view them, one preview per card. */
export interface Previews {
  read(cardId: number): Preview
  /**
   * Starts a card's preview, or postpones the end of the running one.
   * @throws Problem CARD_NOT_FOUND; CONFLICT if there is nothing to serve, or 20 are running
   */
  start(ref: CardRef): Promise<{ preview: Preview; isNew: boolean }>
  /**
   * The address that opens a card's preview once, within two minutes, as long as `canOpen` allows.
   * @throws Problem CONFLICT if it is not running
   */
  issueTicket(cardId: number, canOpen: CanOpen): { url: string; expiresAt: string }
  /** Ends a card's preview. Resolves when all its processes have exited, or after 9 seconds. */
  end(cardId: number): Promise<void>
  /** Whether processes of a preview might be running in the card's folder. */
  isAtWork(cardId: number): boolean
  /** Enables starts. */
  open(server: ServerAccess): void
  /** Ends all previews. Takes at most 9 s. */
  stop(): Promise<void>
}

interface Dependencies extends Pick<SandboxDependencies, 'sandbox' | 'worktrees' | 'connect'> {
  config: ServerConfig
  db: Database
  processTrees: ProcessTrees
  outbox: Outbox
}

export const createPreviews = (dependencies: Dependencies): Previews => new CardPreviews(dependencies)

class CardPreviews implements Previews {
  readonly #dependencies: Dependencies
  readonly #runs = new Map<number, PreviewRun>()
  readonly #uidOf: ReturnType<typeof peerUidReader>
  readonly #reconciler: Reconciler
  #eventWrites: Promise<unknown> = Promise.resolve()

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.#reconciler = createReconciler('Previews', () => this.#reconcile(), dependencies)
    this.#uidOf = peerUidReader(dependencies.config.socketTables)
  }

  read(cardId: number): Preview {
    const run = this.#runs.get(cardId)
    return { ...stateOf(cardId, run), output: run?.output() ?? '' }
  }

  isAtWork(cardId: number): boolean {
    return this.#runs.get(cardId)?.isOver === false
  }

  async start(ref: CardRef): Promise<{ preview: Preview; isNew: boolean }> {
    const { cardId } = ref
    const { db, config, worktrees } = this.#dependencies
    const plan = await retryWhileBusy(() => planPreview(worktrees, db, config.dataDir, ref))
    const previous = this.#runs.get(cardId)
    if (previous && (previous.isStopping || !isLive(previous))) await previous.over
    // Read again: a concurrent call can have started another run.
    const current = this.#runs.get(cardId)
    const isNew = !current || !isLive(current)
    if (isNew) this.#launch(plan)
    else current.renew()
    const preview = this.read(cardId)
    await this.#eventWrites
    return { preview, isNew }
  }

  issueTicket(cardId: number, canOpen: CanOpen): { url: string; expiresAt: string } {
    const run = this.#runs.get(cardId)
    if (!run) throw notRunning()
    return run.issueTicket(canOpen)
  }

  async end(cardId: number): Promise<void> {
    const run = this.#runs.get(cardId)
    if (!run) return
    await withinStop(run.stop())
    if (!isLive(run) && this.#runs.get(cardId) === run) this.#forget(run)
    await this.#eventWrites
  }

  open(server: ServerAccess): void {
    this.#reconciler.start(server)
  }

  async stop(): Promise<void> {
    await withinStop(Promise.all([this.#reconciler.end(), ...[...this.#runs.values()].map(run => run.stop())]))
  }

  async #reconcile(): Promise<void> {
    for (const run of this.#live()) if (!(await isWanted(this.#dependencies.db, run))) void run.stop()
  }

  #launch(plan: PreviewPlan): void {
    const { server, isOver } = this.#reconciler
    if (!server || isOver) throw new Problem('SHUTTING_DOWN')
    if (this.#live().length >= maxPreviews)
      throw new Problem('CONFLICT', `${maxPreviews} previews are running on this server. Stop one of them.`)
    const cardId = plan.card.id
    const run = new PreviewRun(
      { ...this.#dependencies, ...server, uidOf: this.#uidOf, onStatus: () => this.#emitState(plan) },
      plan,
    )
    // Deleted first, so that the new run is the last one of the map. The first failed runs are dropped.
    this.#runs.delete(cardId)
    this.#runs.set(cardId, run)
    this.#emitState(plan)
    void run.over.then(() => {
      if (isLive(run)) this.#forget(run)
      const failed = [...this.#runs.values()].filter(each => !isLive(each))
      for (const each of failed.slice(0, Math.max(0, failed.length - maxFailed))) this.#runs.delete(each.plan.card.id)
    })
  }

  #forget({ plan }: PreviewRun): void {
    this.#runs.delete(plan.card.id)
    this.#emitState(plan)
  }

  #live(): PreviewRun[] {
    return [...this.#runs.values()].filter(isLive)
  }

  /** Emits the state of a preview after the earlier ones. A failed event is skipped, because clients can read the state. */
  #emitState({ card, project }: PreviewPlan): void {
    const state = stateOf(card.id, this.#runs.get(card.id))
    const { db } = this.#dependencies
    const write = () =>
      retryWhileBusy(() => db.transaction(tx => appendEvent(tx, 'preview.updated', project.id, state)))
    if (this.#reconciler.isOver) return
    this.#eventWrites = this.#eventWrites.then(write).catch((error: unknown) => {
      const { server } = this.#reconciler
      if (server) logFailure(server.log, 'The event about the state of a preview could not be stored.', error)
    })
  }
}

/** A failed preview can still have processes that are being ended. */
const isLive = ({ status }: PreviewRun): boolean => status !== 'failed'

/** Whether the card still exists, with the served folder. */
async function isWanted(db: Database, { plan: { card, place } }: PreviewRun): Promise<boolean> {
  const now = await readCard(db, card.projectId, card.id)
  return (
    now !== undefined &&
    now.archivedAt === null &&
    (place.worktreePath === null || now.worktreePath === place.worktreePath)
  )
}

function stateOf(cardId: number, run: PreviewRun | undefined): PreviewState {
  const id = String(cardId)
  if (!run)
    return {
      cardId: id,
      status: 'off',
      url: null,
      port: null,
      startedAt: null,
      endsAt: null,
      exitCode: null,
      reason: null,
    }
  const { status, startedAt, endsAt, exitCode, reason, plan } = run
  const [port] = plan.ports
  return {
    cardId: id,
    status,
    url: status === 'running' ? previewUrl(port) : null,
    port,
    startedAt,
    endsAt: status === 'failed' ? null : endsAt,
    exitCode,
    reason,
  }
}
