import { useEffect, useMemo } from 'react'
import { mergeMessages, type Message, type Session } from '../../../src/boardModel/openedCard.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import type { LiveMessage } from '../../../src/client/socket.ts'
import { followProject } from '../app/live.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'

type PreSession = Output<Contract['preSessions']['get']>

interface PreSessionState {
  session?: PreSession
  messages: readonly Message[]
}

/** The pre-session that refines a card's prompt. Empty if the card has none, or once it is accepted or cancelled. */
class PreSessionStore {
  readonly state = new Store<PreSessionState>({ messages: [] })
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
    await this.#refresh()
  }

  async send(content: string, attachmentIds: string[]): Promise<void> {
    const message = await client.preSessions.send({ ...this.#sessionRef(), content, attachmentIds })
    this.state.update(now => ({ ...now, messages: mergeMessages(now.messages, [message]) }))
  }

  async accept(): Promise<Output<Contract['preSessions']['accept']>> {
    const card = await client.preSessions.accept(this.#sessionRef())
    this.state.set({ messages: [] })
    return card
  }

  async cancel(): Promise<void> {
    await client.preSessions.cancel(this.#sessionRef())
    this.state.set({ messages: [] })
  }

  #sessionRef(): { projectId: string; sessionId: string } {
    return { projectId: this.projectId, sessionId: this.state.get().session!.sessionId }
  }

  #setSession(session: PreSession): void {
    const isOver = session.status === 'accepted' || session.status === 'cancelled'
    this.state.update(now => (isOver ? { messages: [] } : { ...now, session }))
  }

  async #load(): Promise<void> {
    const { items } = await client.preSessions.list({ projectId: this.projectId, limit: 200 })
    const found = items.find(({ cardId, status }) => cardId === this.cardId && /running|waiting|failed/.test(status))
    if (!found) return
    this.#setSession(found)
    await this.#refresh()
  }

  async #refresh(): Promise<void> {
    const [session, messages] = await Promise.all([
      client.preSessions.get(this.#sessionRef()),
      client.preSessions.messages(this.#sessionRef()),
    ])
    this.state.update(now => ({ ...now, messages: mergeMessages(now.messages, messages) }))
    this.#setSession(session)
  }

  #handleEvents(events: readonly LiveMessage[]): void {
    const id = this.state.get().session?.sessionId
    if (events.some(({ type }) => type === 'resync')) return void this.#load().catch(() => undefined)
    if (id === undefined) {
      const isStarted = events.some(
        ({ type, data }) => type === 'agent.status' && (data as Session).cardId === this.cardId,
      )
      if (isStarted) void this.#load().catch(() => undefined)
      return
    }
    const ownEvents = events.filter(({ data }) => (data as { sessionId?: string }).sessionId === id)
    const messages = ownEvents
      .filter(({ type }) => /^agent\.(message|tool|plan)$/.test(type))
      .map(({ data }) => data as Message)
    if (messages.length > 0) this.state.update(now => ({ ...now, messages: mergeMessages(now.messages, messages) }))
    if (ownEvents.some(({ type }) => type === 'agent.status')) void this.#refresh().catch(() => undefined)
  }
}

/** Follows the pre-session of a card. */
export function usePreSession(projectId: string, cardId: string): PreSessionStore {
  const store = useMemo(() => new PreSessionStore(projectId, cardId), [projectId, cardId])
  useEffect(() => store.start(), [store])
  return store
}
