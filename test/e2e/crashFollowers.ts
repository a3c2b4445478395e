import { expect } from 'vitest'
import { openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'

/** An event as it was told, or as it stands in the database. */
export interface Told {
  seq: number
  type: string
  projectId: string
  at: string
  data: unknown
}

/** A client of the live events that follows some projects, and after each crash goes on where it was. */
export class Follower {
  readonly #since: Map<string, number>
  #heard: Told[] = []
  #live: LiveSocket | undefined

  /** @param since from where it follows each of these projects */
  constructor(since: ReadonlyMap<string, number>) {
    this.#since = new Map(since)
  }

  /** Connects, and has then got all that it missed. */
  async follow(url: string, token: string): Promise<void> {
    const live = (this.#live = await openSocket(url, token))
    for (const [projectId, since] of this.#since) live.send({ type: 'subscribe', payload: { projectId, since } })
    for (const projectId of this.#since.keys())
      await live.message('subscribed', ({ data }) => data.projectId === projectId)
    this.#take(live)
  }

  /** To be called when the server is gone: what came before that counts. */
  async lose(): Promise<void> {
    await this.#live!.untilClosed()
    this.#take(this.#live!)
  }

  /** Holds what it was told to the events of the database up to `lastSeq`: each of them once, in the order of its project, and none that is not there. */
  expectTold(events: readonly Told[], lastSeq: number): void {
    for (const projectId of this.#since.keys()) {
      const told = this.#heard.filter(each => each.projectId === projectId && each.seq <= lastSeq)
      expect(told.map(({ seq }) => seq)).toEqual(
        events.filter(each => each.projectId === projectId).map(({ seq }) => seq),
      )
      expect(told).toEqual(events.filter(each => each.projectId === projectId))
    }
    this.#heard = this.#heard.filter(({ seq }) => seq > lastSeq)
  }

  close(): void {
    this.#live?.close()
  }

  #take({ messages }: LiveSocket): void {
    for (const { seq, type, projectId, at, data } of messages.splice(0)) {
      if (!this.#since.has(projectId) || type === 'notification') continue
      this.#heard.push({ seq, type, projectId, at, data })
      this.#since.set(projectId, seq)
    }
  }
}
