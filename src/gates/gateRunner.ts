import { setTimeout as delay } from 'node:timers/promises'
import { advancePipeline } from '../agents/sessions/advancePipeline.ts'
import type { Supervisor } from '../agents/sessions/agentSupervisor.ts'
import type { SandboxDependencies } from '../agents/sessions/sandbox/projectSandbox.ts'
import { textOfTrees } from '../cardWork/repositoryWork.ts'
import { logFailure } from '../config/log.ts'
import { Problem } from '../contract/errors.ts'
import { beginCheck, dropCheck, endCheck, type Checks } from '../domain/cards/checks.ts'
import { definitionOf, isCommand, needsProof } from '../domain/cards/proofs.ts'
import type { Outbox } from '../events/outbox.ts'
import { createReconciler, type Reconciler, type ServerAccess } from '../process/reconciler.ts'
import type { ProcessTrees } from '../process/spawn.ts'
import { readCard, type CardRow } from '../store/cards/cards.ts'
import { findPassed, listOpenProofs, readProof, type OpenProof, type ProofRow } from '../store/cards/proofs.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { writeWithRetry } from '../store/engine/retry.ts'
import { hasActiveAgent } from '../views/cards.ts'
import { noSlot, takeCheckSlot } from './checkSlot.ts'
import { CheckRun } from './checkRun.ts'
import { sendBack } from './gateRounds.ts'
import { ReviewRun } from './reviewRun.ts'
import {
  changedFiles,
  findChanges,
  hasFailedCommand,
  planCheck,
  type CheckPlan,
  type CheckResult,
} from './planCheck.ts'

const retryMs = 1000
/** A command that could not run, which can pass without help, runs once more. */
const maxAttempts = 2
const agentStarted = 'An agent started to work on the card.'

/** Runs the gates of cards while no agent works on them: one at a time for each card. */
export interface GateRunner extends Checks {
  /** The output of a gate that runs. */
  output(proofId: number): Promise<CheckOutput | undefined>
  /** Whether a gate runs in the card's folder. */
  isAtWork(cardId: number): boolean
  /** Enables checks. */
  start(server: ServerAccess): void
  /** Ends all commands, which run again at the next start. Takes at most 9 s. */
  stop(): Promise<void>
}

export interface GateDependencies extends Pick<SandboxDependencies, 'sandbox' | 'worktrees' | 'connect' | 'config'> {
  db: Database
  processTrees: ProcessTrees
  outbox: Outbox
  supervisor: Supervisor
}

type CheckOutput = Pick<ProofRow, 'output' | 'outputStart'>

/** A check in progress. A command starts when there is a slot. */
interface LiveCheck {
  proof: OpenProof
  run: CheckRun | ReviewRun | undefined
  stopReason: string | null
  over: Promise<void>
}

export const createGateRunner = (dependencies: GateDependencies): GateRunner => new CardGates(dependencies)

class CardGates implements GateRunner {
  readonly #dependencies: GateDependencies
  /** By card. */
  readonly #live = new Map<number, LiveCheck>()
  readonly #reconciler: Reconciler

  constructor(dependencies: GateDependencies) {
    this.#dependencies = dependencies
    this.#reconciler = createReconciler('Gates', () => this.#reconcile(), dependencies)
  }

  reconcile(tx: Transaction): void {
    tx.afterCommit(this.#reconciler.wake)
  }

  async output(proofId: number): Promise<CheckOutput | undefined> {
    return [...this.#live.values()].find(({ proof }) => proof.id === proofId)?.run?.output()
  }

  isAtWork(cardId: number): boolean {
    return this.#live.get(cardId)?.run !== undefined
  }

  start(server: ServerAccess): void {
    this.#reconciler.start(server)
  }

  stop(): Promise<void> {
    return this.#reconciler.stop(this.#live, stopCheck)
  }

  async #reconcile(): Promise<void> {
    const open = await listOpenProofs(this.#dependencies.db)
    for (const live of this.#live.values()) {
      const row = open.find(({ id }) => id === live.proof.id)
      if (!row) stopCheck(live, 'The gate or the card was deleted.')
      else if (whyStopped(row) !== null) stopCheck(live, whyStopped(row)!)
    }
    for (const proof of open) {
      if (this.#live.has(proof.cardId) || this.#reconciler.isOver) continue
      const live: LiveCheck = { proof, run: undefined, stopReason: whyStopped(proof), over: Promise.resolve() }
      this.#live.set(proof.cardId, live)
      live.over = this.#check(live).finally(() => {
        this.#live.delete(proof.cardId)
        this.#reconciler.wake()
      })
    }
  }

  /** Runs a check to its end. Never rejects. */
  async #check(live: LiveCheck): Promise<void> {
    const { proof } = live
    try {
      if (live.stopReason !== null) return await this.#end(live, failure(live.stopReason))
      if (proof.status === 'running' && proof.attempts >= maxAttempts)
        return await this.#end(live, failure('The server stopped while the command ran.'))
      const plan = await this.#plan(proof)
      if (plan instanceof Problem) return await this.#end(live, failure(plan.message))
      if (await this.#isPassedAlready(live, plan)) return
      // The session of a reviewer takes its own slot.
      const slot = isCommand(plan.gate)
        ? await takeCheckSlot(this.#dependencies.supervisor, plan.project, () => live.stopReason !== null)
        : noSlot
      try {
        // The files can have changed while the check waited.
        await this.#run(live, slot.hasWaited ? await this.#plan(proof) : plan)
      } finally {
        slot.release()
      }
    } catch (error) {
      logFailure(this.#reconciler.server!.log, 'A gate could not be checked.', error, { cardId: proof.cardId })
      const result = failure("The server could not run the command. The server's log has the details.")
      await this.#end(live, result).catch(() => delay(retryMs, undefined, { ref: false }))
    }
  }

  async #plan(proof: OpenProof): Promise<CheckPlan | Problem> {
    await this.#dependencies.supervisor.endLate(proof.cardId)
    return planCheck(this.#planning(), proof).catch((error: unknown) => {
      if (error instanceof Problem && error.status < 500) return error
      throw error
    })
  }

  #planning() {
    const { db, worktrees, config } = this.#dependencies
    return { db, worktrees, dataDir: config.dataDir }
  }

  /** Drops a check whose gate has passed for the same files or has no command, and lets the card move on. */
  async #isPassedAlready({ proof }: LiveCheck, plan: CheckPlan): Promise<boolean> {
    const { card, gate, trees } = plan
    const { db, supervisor } = this.#dependencies
    const wanted = { cardId: card.id, gateId: gate.id, definition: definitionOf(gate), trees: textOfTrees(trees) }
    if (needsProof(gate) && !(await findPassed(db, wanted)) && !(await hasFailedCommand(db, plan, wanted.trees)))
      return false
    await db.transaction(async tx => {
      await dropCheck(tx, proof)
      await advance(tx, supervisor, proof, wanted.trees)
    })
    return true
  }

  async #run(live: LiveCheck, plan: CheckPlan | Problem): Promise<void> {
    const { db, ...others } = this.#dependencies
    if (plan instanceof Problem) return this.#end(live, failure(plan.message))
    const before = textOfTrees(plan.trees)
    const isThere = await db.transaction(tx =>
      beginCheck(tx, live.proof, { trees: before, definition: definitionOf(plan.gate) }),
    )
    if (!isThere) return
    live.run = isCommand(plan.gate)
      ? new CheckRun({ ...others, ...this.#reconciler.server! }, plan)
      : new ReviewRun(this.#dependencies, plan, live.proof.id)
    if (live.stopReason !== null) live.run.stop(live.stopReason)
    const result = await live.run.run()
    const { trees, changed } = await findChanges(this.#planning(), plan)
    if (result.status === 'passed' && trees !== before)
      return this.#end(live, changedFiles(plan.gate, changed), { trees })
    await this.#end(live, result, { trees, canRepeat: result.status === 'error' })
  }

  /** Records the end of a check. One that this server broke off, or whose error can pass without help, runs again. */
  async #end(live: LiveCheck, result: CheckResult, { trees = '', canRepeat = false } = {}): Promise<void> {
    const { db, supervisor } = this.#dependencies
    const { proof, run, stopReason } = live
    const output = await run?.output()
    await supervisor.refresh()
    await writeWithRetry(
      db,
      async tx => {
        const row = await readProof(tx, proof.cardId, proof.id)
        if (!row) return
        if (this.#reconciler.isOver)
          return endCheck(tx, row, { status: 'queued', attempts: Math.max(0, row.attempts - 1) })
        if (canRepeat && stopReason === null && row.attempts < maxAttempts)
          return endCheck(tx, row, { status: 'queued' })
        const stopped =
          stopReason !== null &&
          ({ summary: stopReason, status: stopReason === agentStarted ? 'superseded' : 'error' } as const)
        await endCheck(tx, row, { ...result, ...output, trees, ...stopped })
        if (stopReason === null) await advance(tx, supervisor, proof, trees)
      },
      code => this.#reconciler.server!.log('warn', 'The result of a gate could not be saved yet; retrying.', { code }),
    )
  }
}

function stopCheck(live: LiveCheck, reason: string): void {
  live.stopReason ??= reason
  live.run?.stop(live.stopReason)
}

const whyStopped = ({ stopReason, cardStatus }: Pick<OpenProof, 'stopReason'> & { cardStatus: CardRow['status'] }) =>
  stopReason ?? (hasActiveAgent({ status: cardStatus }) ? agentStarted : null)

const failure = (summary: string): CheckResult => ({ status: 'error', exitCode: null, summary })

/** Moves a card on that waits for its gates in auto mode, or sends it back to its agent. */
async function advance(
  tx: Transaction,
  supervisor: Supervisor,
  { projectId, cardId }: OpenProof,
  trees: string,
): Promise<void> {
  const card = await readCard(tx, projectId, cardId)
  if (trees === '' || card?.status !== 'completed' || card.nextColumnId !== null) return
  if (await sendBack(tx, supervisor, card, trees)) return
  await advancePipeline(tx, supervisor, projectId, cardId, trees)
}
