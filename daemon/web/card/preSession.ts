import { useEffect, useMemo } from 'react'
import { mergeMessages, type Message, type Session } from '../../../src/boardModel/openedCard.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import type { LiveMessage } from '../../../src/client/socket.ts'
import { followProject } from '../app/live.ts'
import { client } from '../app/session.ts'
import { Store } from '../app/store.ts'

type PreSession = Output<Contract['preSessions']['get']>

interface TalkState {
  session?: PreSession
  messages: readonly Message[]
}

/** The talk that refines a card's prompt, while there is one that is neither accepted nor cancelled. */
class PreSessionStore {
  readonly state = new Store<TalkState>({ messages: [] })
  readonly projectId: string
  readonly cardId: string

  constructor(projectId: string, cardId: string) {
    this.projectId = projectId
    this.cardId = cardId
  }

  start(): () => void {
    return followProject(
      this.projectId,
      events => this.#applyEvents(events),
      () => void this.#find().catch(() => undefined),
    )
  }

  async begin(): Promise<void> {
    this.#replaceSession(await client.preSessions.start({ projectId: this.projectId, cardId: this.cardId }))
    await this.#read()
  }

  async send(content: string, attachmentIds: string[]): Promise<void> {
    const message = await client.preSessions.send({ ...this.#place(), content, attachmentIds })
    this.state.update(now => ({ ...now, messages: mergeMessages(now.messages, [message]) }))
  }

  async accept(): Promise<Output<Contract['preSessions']['accept']>> {
    const card = await client.preSessions.accept(this.#place())
    this.state.set({ messages: [] })
    return card
  }

  async cancel(): Promise<void> {
    await client.preSessions.cancel(this.#place())
    this.state.set({ messages: [] })
  }

  #place(): { projectId: string; sessionId: string } {
    return { projectId: this.projectId, sessionId: this.state.get().session!.sessionId }
  }

  #replaceSession(session: PreSession): void {
    const isOver = session.status === 'accepted' || session.status === 'cancelled'
    this.state.update(now => (isOver ? { messages: [] } : { ...now, session }))
  }

  async #find(): Promise<void> {
    const { items } = await client.preSessions.list({ projectId: this.projectId, limit: 200 })
    const mine = items.find(({ cardId, status }) => cardId === this.cardId && /running|waiting|failed/.test(status))
    if (!mine) return
    this.#replaceSession(mine)
    await this.#read()
  }

  async #read(): Promise<void> {
    const [session, messages] = await Promise.all([
      client.preSessions.get(this.#place()),
      client.preSessions.messages(this.#place()),
    ])
    this.state.update(now => ({ ...now, messages: mergeMessages(now.messages, messages) }))
    this.#replaceSession(session)
  }

  #applyEvents(events: readonly LiveMessage[]): void {
    const id = this.state.get().session?.sessionId
    if (events.some(({ type }) => type === 'resync')) return void this.#find().catch(() => undefined)
    const mine = events.filter(({ data }) => id !== undefined && (data as { sessionId?: string }).sessionId === id)
    const messages = mine
      .filter(({ type }) => /^agent\.(message|tool|plan)$/.test(type))
      .map(({ data }) => data as Message)
    if (messages.length > 0) this.state.update(now => ({ ...now, messages: mergeMessages(now.messages, messages) }))
    const status = mine.findLast(({ type }) => type === 'agent.status')?.data as Session | undefined
    const begins = events.some(
      ({ type, data }) => id === undefined && type === 'agent.status' && (data as Session).cardId === this.cardId,
    )
    if (status || begins) void (id === undefined ? this.#find() : this.#read()).catch(() => undefined)
  }
}

/** Follows the talk of a card. */
export function usePreSession(projectId: string, cardId: string): PreSessionStore {
  const talk = useMemo(() => new PreSessionStore(projectId, cardId), [projectId, cardId])
  useEffect(() => talk.start(), [talk])
  return talk
}
