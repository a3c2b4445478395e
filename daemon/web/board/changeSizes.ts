import { ApiFailure } from '../../../src/client/failures.ts'
import { createSerialQueue } from '../../../src/async/serialQueue.ts'
import type { Card } from '../../../src/boardModel/cardCache.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'

/** The size of a card's changes. */
export interface ChangeSize {
  filesChanged: number
  insertions: number
  deletions: number
}

/** The sizes of the changes of cards by ID, which visible cards request. */
export class ChangeSizes {
  readonly state = new Store<ReadonlyMap<string, ChangeSize>>(new Map())
  /** A diff starts Git processes on the server, so that only one is requested at a time. */
  readonly #queue = createSerialQueue()
  readonly #versions = new Map<string, number>()
  #hasGit = true

  /** Reads the size for the current version of a card, once. */
  read({ projectId, id: cardId, version }: Card): void {
    if (this.#versions.get(cardId) === version) return
    this.#versions.set(cardId, version)
    void this.#queue(async () => {
      if (!this.#hasGit || this.#versions.get(cardId) !== version) return
      const { stats } = await client.agents.diff({ projectId, cardId })
      this.state.update(all => new Map(all).set(cardId, stats))
    }).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.code === 'NOT_A_GIT_REPOSITORY') this.#hasGit = false
    })
  }
}
