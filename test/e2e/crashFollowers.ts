import { expect } from 'vitest'
import { openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'

/** An event as a follower received it, or as the database has it. */
export interface Told {
  seq: number
  type: string
  projectId: string
  at: string
  data: unknown
}

/** A client of the live events that follows some projects, and continues at its last event after each crash. */
export class Follower {
  readonly #since: Map<string, number>
  #heard: Told[] = []
  #live: LiveSocket | undefined

  /** @param since the seq from which it follows each of these projects */
  constructor(since: ReadonlyMap<string, number>) {
    this.#since = new Map(since)
  }

  /** Connects, and resolves after it has received all missed events. */
  async follow(url: string, token: string): Promise<void> {
    const live = (this.#live = await openSocket(url, token))
    for (const [projectId, since] of this.#since) live.send({ type: 'subscribe', payload: { projectId, since } })
    for (const projectId of this.#since.keys())
      await live.message('subscribed', ({ data }) => data.projectId === projectId)
    this.#take(live)
  }

  /** Must be called after the server has ended: the events received before it count. */
  async lose(): Promise<void> {
    await this.#live!.untilClosed()
    this.#take(this.#live!)
  }

  /** Expects that the follower received the events of the database up to `lastSeq`, each once, in the order of its project, and no others. */
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
