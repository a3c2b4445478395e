import { setTimeout as delay } from 'node:timers/promises'
import { listTrees, textOfTrees } from '../../cardWork/repositoryWork.ts'
import type { RawUpdate } from '../link/agentLink.ts'
import { readSessionWork } from './sessionWork.ts'
import type { RunDependencies } from './runDependencies.ts'

/** A repository that takes longer to compare does not delay the turn. */
const timeoutMs = 3000
const changingKinds = new Set<unknown>(['edit', 'delete', 'move', 'execute'])

/**
 * Whether an agent changes files in a turn. Compares the trees of all the card's repositories before and after the turn. If a tree is
 * unknown, because a folder has no Git or its comparison takes too long, a tool call that can change files counts as a change.
 */
export class TurnChanges {
  readonly #dependencies: Pick<RunDependencies, 'db' | 'worktrees'>
  readonly #sessionId: number
  #before: string | undefined
  #early: Promise<string | undefined> | undefined
  #hasRunTool = false

  constructor(dependencies: Pick<RunDependencies, 'db' | 'worktrees'>, sessionId: number) {
    this.#dependencies = dependencies
    this.#sessionId = sessionId
  }

  /** Reads the trees for the first turn while the agent starts, because it waits for them then. */
  readEarly(): void {
    this.#early = this.#read()
    this.#early.catch(() => {
      /* The turn reports the error. */
    })
  }

  async begin(): Promise<void> {
    this.#hasRunTool = false
    const early = this.#early
    this.#early = undefined
    this.#before = await (early ?? this.#read())
  }

  add({ sessionUpdate, kind }: RawUpdate): void {
    if (sessionUpdate.startsWith('tool_call') && changingKinds.has(kind)) this.#hasRunTool = true
  }

  async haveHappened(): Promise<boolean> {
    const after = this.#before === undefined ? undefined : await this.#read()
    return after === undefined ? this.#hasRunTool : after !== this.#before
  }

  async #read(): Promise<string | undefined> {
    const { db, worktrees } = this.#dependencies
    const work = await readSessionWork(db, this.#sessionId)
    if (!work) return undefined
    const trees = listTrees(worktrees, db, work.card, work.project).then(
      found => found && textOfTrees(found),
      () => undefined,
    )
    return Promise.race([trees, delay(timeoutMs, undefined, { ref: false })])
  }
}
