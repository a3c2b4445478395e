import { portsOf } from '../../cardWork/cardPorts.ts'
import { endCheck } from '../../domain/cards/checks.ts'
import { definitionOf, isCommand, listMergeGates } from '../../domain/cards/proofs.ts'
import { CheckRun, type CheckDependencies } from '../checkRun.ts'
import { takeCheckSlot } from '../checkSlot.ts'
import type { GateDependencies } from '../gateRunner.ts'
import { changedFiles, type CheckResult } from '../planCheck.ts'
import type { GateRow } from '../../store/boards/gates.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { deleteLandingProofs, findPassed, insertProof, readProof, type ProofRow } from '../../store/cards/proofs.ts'
import type { ProjectRow } from '../../store/projects/projects.ts'
import { listChanged, makeLandingFolder, removeLandingFolder, type LandingFolder } from './landingFolder.ts'

/** A merge that the gates test: its commit, and the tree of that commit. */
export interface TestedMerge {
  landingId: number
  card: CardRow
  project: ProjectRow
  commit: string
  tree: string
}
/** Why a merge has not passed: a gate with its result, or a text. */
export type TestFailure = { gate: GateRow; proof: ProofRow } | { gate: null; problem: string }

/** The gates of the merge while they run on a merged commit, in a separate worktree. */
export class MergeTest {
  readonly #dependencies: GateDependencies & CheckDependencies
  readonly #merge: TestedMerge
  #run: CheckRun | undefined
  #proofId: number | undefined
  #stopReason: string | null = null

  constructor(dependencies: GateDependencies & CheckDependencies, merge: TestedMerge) {
    this.#dependencies = dependencies
    this.#merge = merge
  }

  /** The output of the gate that runs now. */
  output(proofId: number): { output: string; outputStart: number } | undefined {
    return proofId === this.#proofId ? this.#run?.output() : undefined
  }

  /** Stops the test. */
  stop(reason: string): void {
    this.#stopReason ??= reason
    this.#run?.stop(this.#stopReason)
  }

  /**
   * Runs the gates that have not passed for the files of the merge, until all have. Gates can change in the meantime.
   * @returns the first failure; undefined if all have passed
   */
  async run(): Promise<TestFailure | undefined> {
    const { db, supervisor } = this.#dependencies
    const { landingId, project } = this.#merge
    await db.transaction(async tx => deleteLandingProofs(tx, landingId))
    for (;;) {
      const missing = await this.#listMissing()
      if (missing.length === 0) return undefined
      const slot = await takeCheckSlot(supervisor, project, () => this.#stopReason !== null)
      try {
        const failure = await this.#runInFolder(missing)
        if (failure) return failure
      } finally {
        slot.release()
      }
    }
  }

  /** The gates of the merge without a valid proof for its files. */
  async #listMissing(): Promise<GateRow[]> {
    const { db } = this.#dependencies
    const { card, project, tree: trees } = this.#merge
    const missing: GateRow[] = []
    for (const gate of (await listMergeGates(db, project.id)).filter(isCommand)) {
      const wanted = { cardId: card.id, gateId: gate.id, definition: definitionOf(gate), trees }
      if (!(await findPassed(db, wanted))) missing.push(gate)
    }
    return missing
  }

  async #runInFolder(gates: readonly GateRow[]): Promise<TestFailure | undefined> {
    const { landingId, project, commit } = this.#merge
    try {
      const folder = await makeLandingFolder(this.#dependencies, project, landingId, commit)
      const setup = await this.#setUp(folder, gates[0]!)
      if (setup !== undefined) return { gate: null, problem: setup }
      for (const gate of gates) {
        const proof = await this.#check(folder, gate)
        if (proof.status !== 'passed') return { gate, proof }
      }
      return undefined
    } finally {
      await removeLandingFolder(this.#dependencies, project, landingId)
    }
  }

  /** Runs the project's setup command. @returns why it failed */
  async #setUp(folder: LandingFolder, gate: GateRow): Promise<string | undefined> {
    const { setup, minutes } = folder.settings
    if (setup === '') return undefined
    const { status, summary } = await this.#runCommand(folder, { ...gate, command: setup, minutes })
    return status === 'passed' ? undefined : `The project's setup command failed: ${summary}`
  }

  async #check(folder: LandingFolder, gate: GateRow): Promise<ProofRow> {
    const { db } = this.#dependencies
    const { landingId, card, tree: trees } = this.#merge
    const cardId = card.id
    const proofId = await db.transaction(tx =>
      insertProof(tx, {
        projectId: card.projectId,
        cardId,
        gateId: gate.id,
        landingId,
        definition: definitionOf(gate),
        trees,
        status: 'running',
        startedAt: tx.now,
        attempts: 1,
      }),
    )
    this.#proofId = proofId
    const result = await this.#runCommand(folder, gate)
    const output = this.#run?.output()
    return db.transaction(async tx => {
      await endCheck(tx, { id: proofId, cardId }, { ...result, ...output })
      return (await readProof(tx, cardId, proofId))!
    })
  }

  async #runCommand(folder: LandingFolder, gate: GateRow): Promise<CheckResult> {
    const { db, config } = this.#dependencies
    const { card, project } = this.#merge
    const ports = await portsOf(db, config.dataDir, card.id, folder.settings.ports)
    this.#run = new CheckRun(this.#dependencies, { gate, card, project, place: folder.place, ports, trees: [] })
    if (this.#stopReason !== null) this.#run.stop(this.#stopReason)
    const result = await this.#run.run()
    if (result.status !== 'passed') return result
    const changed = await listChanged(this.#dependencies, project, folder.place)
    return changed ? changedFiles(gate, changed) : result
  }
}
