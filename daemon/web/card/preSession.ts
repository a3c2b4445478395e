import { useEffect, useMemo } from 'react'
import type { Session } from '../../../src/boardModel/openedCard.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import type { LiveMessage } from '../../../src/client/socket.ts'
import { followProject } from '../app/live.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'

export type PreSession = Output<Contract['preSessions']['get']>

/** The pre-session that refines a card's prompt. Empty if the card has none, or once it is accepted or cancelled. */
export class PreSessionStore {
  readonly state = new Store<PreSession | undefined>(undefined)
  readonly projectId: string
  readonly cardId: string

  constructor(projectId: string, cardId: string) {
    this.projectId = projectId
    this.cardId = cardId
  }

  /** Subscribes to the project's events. Returns a function that unsubscribes. */
  start(): () => void {
    return followProject(
      this.projectId,
      events => this.#handleEvents(events),
      () => void this.#load().catch(() => undefined),
    )
  }

  async begin(): Promise<void> {
    this.#setSession(await client.preSessions.start({ projectId: this.projectId, cardId: this.cardId }))
  }

  async send(content: string, attachmentIds: string[]): Promise<void> {
    await client.preSessions.send({ ...this.#sessionRef(), content, attachmentIds })
  }

  async accept(): Promise<Output<Contract['preSessions']['accept']>> {
    const card = await client.preSessions.accept(this.#sessionRef())
    this.state.set(undefined)
    return card
  }

  async cancel(): Promise<void> {
    await client.preSessions.cancel(this.#sessionRef())
    this.state.set(undefined)
  }

  #sessionRef(): { projectId: string; sessionId: string } {
    return { projectId: this.projectId, sessionId: this.state.get()!.sessionId }
  }

  #setSession(session: PreSession): void {
    const isOver = session.status === 'accepted' || session.status === 'cancelled'
    this.state.set(isOver ? undefined : session)
  }

  async #load(): Promise<void> {
    const { items } = await client.preSessions.list({ projectId: this.projectId, limit: 200 })
    const found = items.find(({ cardId, status }) => cardId === this.cardId && /running|waiting|failed/.test(status))
    if (found) this.#setSession(found)
  }

  #handleEvents(events: readonly LiveMessage[]): void {
    const session = this.state.get()
    const isChanged = events.some(
      ({ type, data }) =>
        type === 'resync' ||
        (type === 'agent.status' && (session ? isOf(data, session) : (data as Session).cardId === this.cardId)),
    )
    if (!isChanged) return
    const reading = session
      ? client.preSessions.get(this.#sessionRef()).then(now => this.#setSession(now))
      : this.#load()
    void reading.catch(() => undefined)
  }
}

const isOf = (data: unknown, { sessionId }: PreSession): boolean => (data as Session).sessionId === sessionId

/** Follows the pre-session of a card. */
export function usePreSession(projectId: string, cardId: string): PreSessionStore {
  const store = useMemo(() => new PreSessionStore(projectId, cardId), [projectId, cardId])
  useEffect(() => store.start(), [store])
  return store
}
