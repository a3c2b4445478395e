import { createContext, useContext, useEffect, useMemo } from 'react'
import type { LiveMessage } from '../../../src/client/socket.ts'
import {
  mergeMessages,
  messagesAtOnce,
  unreadCard,
  withLiveEvents,
  withRead,
  type OpenedCard,
} from '../../../src/boardModel/openedCard.ts'
import type { CardDetail } from '../../../src/boardModel/cardCache.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { inbox, markCardRead } from '../app/inbox.ts'
import { followProject } from '../app/live.ts'
import { client } from '../app/session.ts'
import { Store, useStore } from '../app/store.ts'

export type Question = Output<Contract['agents']['get']>['questions'][number]
export type Attachment = Output<Contract['attachments']['list']>[number]
export type Monitor = Output<Contract['monitors']['listProject']>[number]

/** An opened card, with additional state of the browser. */
export interface OpenedState extends OpenedCard {
  /** The decisions that the card's agent waits for. */
  questions: readonly Question[]
  attachments?: readonly Attachment[]
  monitors?: readonly Monitor[]
  error?: unknown
  isDeleted?: boolean
}

/** The maximum number of messages that are kept while the user is at the end. Scrolling up reads older ones again. */
const maxKept = 2000

/** One card with live updates from the server, while it is open. */
export class OpenedCardStore {
  readonly state: Store<OpenedState>
  readonly projectId: string
  readonly cardId: string
  /** Whether the end of the transcript is on the screen. */
  isAtEnd = true
  #reading: Promise<void> | undefined

  constructor(projectId: string, cardId: string) {
    this.projectId = projectId
    this.cardId = cardId
    this.state = new Store<OpenedState>({ ...unreadCard(cardId), questions: [] })
  }

  /** Follows the card. @returns ends it */
  start(): () => void {
    const end = followProject(
      this.projectId,
      events => this.#applyEvents(events),
      () => void this.read(),
    )
    document.addEventListener('visibilitychange', this.#view)
    const endInbox = inbox.subscribe(this.#view)
    return () => {
      end()
      endInbox()
      document.removeEventListener('visibilitychange', this.#view)
    }
  }

  /** Marks the card and its items in the inbox as read when the page is visible. */
  readonly #view = (): void => {
    const { card } = this.state.get()
    if (!card || document.hidden) return
    markCardRead(this.cardId)
    if (!card.unread) return
    this.state.update(now => ({ ...now, card: { ...card, unread: false } }))
    void client.cards.view(this.#place()).catch(() => undefined)
  }

  /** Reads the complete card. Events that arrive during the read are applied after it. */
  read(): Promise<void> {
    return (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
  }

  async #read(): Promise<void> {
    const place = this.#place()
    const { state } = this
    try {
      const [card, sessions, messages, { questions }, attachments] = await Promise.all([
        client.cards.get(place),
        client.agents.sessions(place),
        client.agents.messages({ ...place, limit: messagesAtOnce }),
        client.agents.get(place),
        client.attachments.list(place),
      ])
      state.update(now => ({
        ...withRead({ ...now, messages: joinMessages(now.messages, messages) }, { card, sessions, messages }),
        questions,
        attachments,
        error: undefined,
      }))
    } catch (error) {
      state.update(now => ({ ...now, error }))
      return
    }
    void this.readMonitors()
    this.#view()
  }

  /** Reads the monitors of this card. Empty for keys that cannot read monitors. */
  async readMonitors(): Promise<void> {
    const all = await client.monitors.listProject({ projectId: this.projectId }).catch(() => [])
    this.state.update(now => ({ ...now, monitors: all.filter(({ cardId }) => cardId === this.cardId) }))
  }

  /** Applies the card from the server's response to a change. */
  readonly setCard = (card: CardDetail): void =>
    this.state.update(now => (now.card && now.card.version > card.version ? now : { ...now, card }))

  /** Reads the messages before the oldest that is known. */
  async readOlder(): Promise<void> {
    const { messages, older } = this.state.get()
    const before = messages[0]?.id
    if (older !== 'maybe' || before === undefined) return
    this.state.update(now => ({ ...now, older: 'reading' }))
    try {
      const more = await client.agents.messages({ ...this.#place(), before: Number(before), limit: messagesAtOnce })
      this.state.update(now => ({
        ...now,
        messages: mergeMessages(more, now.messages),
        older: more.length < messagesAtOnce ? 'none' : 'maybe',
      }))
    } catch (error) {
      this.state.update(now => ({ ...now, older: 'maybe' }))
      throw error
    }
  }

  /** Reads the open questions of the agent. */
  async readQuestions(): Promise<void> {
    const { questions } = await client.agents.get(this.#place())
    this.state.update(now => ({ ...now, questions }))
  }

  #place(): { projectId: string; cardId: string } {
    return { projectId: this.projectId, cardId: this.cardId }
  }

  #applyEvents(events: readonly LiveMessage[]): void {
    if (events.some(({ type }) => type === 'resync')) return void this.read()
    const mine = events.filter(event => this.#isMine(event))
    if (mine.length === 0) return
    this.state.update(now => withOthers(this.#trim(withLiveEvents(now, mine)), mine))
    if (mine.some(({ type }) => changesQuestions.has(type))) void this.readQuestions().catch(() => undefined)
    this.#view()
  }

  #isMine({ type, data }: LiveMessage): boolean {
    const { id, cardId } = data as { id?: string; cardId?: string }
    return cardId === this.cardId || (type.startsWith('card.') && id === this.cardId)
  }

  #trim(now: OpenedState): OpenedState {
    if (!this.isAtEnd || now.messages.length <= maxKept) return now
    return { ...now, messages: now.messages.slice(-messagesAtOnce), older: 'maybe' }
  }
}

const changesQuestions: ReadonlySet<string> = new Set([
  'agent.status',
  'agent.permission',
  'monitor.updated',
  'monitor.deleted',
])

/** Starts over with a page that does not overlap the known messages, so that no message is missing in between. */
const joinMessages = (known: OpenedState['messages'], page: OpenedState['messages']): OpenedState['messages'] =>
  known.length > 0 && page.length > 0 && Number(known.at(-1)!.id) < Number(page[0]!.id) ? [] : known

function withOthers(state: OpenedState, events: readonly LiveMessage[]): OpenedState {
  return events.reduce((now, { type, data }) => {
    const { id } = data as { id: string }
    if (type === 'card.deleted') return { ...now, isDeleted: true }
    if (type === 'card.restored') return { ...now, isDeleted: false }
    if (type.startsWith('comment.'))
      return now.card
        ? { ...now, card: { ...now.card, commentCount: (data as { commentCount: number }).commentCount } }
        : now
    if (type === 'attachment.created' && now.attachments)
      return { ...now, attachments: [...without(now.attachments, id), data as Attachment] }
    if (type === 'attachment.deleted') return { ...now, attachments: now.attachments && without(now.attachments, id) }
    if ((type === 'monitor.created' || type === 'monitor.updated') && now.monitors)
      return { ...now, monitors: [...without(now.monitors, id), data as Monitor].sort(byId) }
    if (type === 'monitor.deleted') return { ...now, monitors: now.monitors && without(now.monitors, id) }
    return now
  }, state)
}

const without = <T extends { id: string }>(rows: readonly T[], id: string): T[] => rows.filter(row => row.id !== id)
const byId = (a: { id: string }, b: { id: string }): number => Number(a.id) - Number(b.id)

/** Opens a card, and follows it while the component is shown. */
export function useOpenedCard(projectId: string, cardId: string): OpenedCardStore {
  const opened = useMemo(() => new OpenedCardStore(projectId, cardId), [projectId, cardId])
  useEffect(() => opened.start(), [opened])
  return opened
}

const Opened = createContext<OpenedCardStore | undefined>(undefined)
/** Provides the opened card to the components below it. */
export const OpenedProvider = Opened.Provider

/** Returns the card of the surrounding component. */
export const useOpened = (): OpenedCardStore => useContext(Opened)!

/** The card itself, once it has been read. */
export const useCard = (): CardDetail => useStore(useOpened().state, ({ card }) => card)!
