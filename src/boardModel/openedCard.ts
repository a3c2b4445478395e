import type { Contract } from '../contract/index.ts'
import type { Output } from '../contract/route.ts'
import type { LiveMessage } from '../client/socket.ts'
import type { CardDetail } from './cardCache.ts'

export type Session = Output<Contract['agents']['sessions']>[number]
export type Message = Output<Contract['agents']['messages']>[number]
export type Diff = Output<Contract['agents']['diff']>

/** An opened card: its sessions and messages, as last received from the server. */
export interface OpenedCard {
  cardId: string
  /** Undefined until it has been read. */
  card?: CardDetail
  /** Events that arrived before the card had been read. */
  early: readonly LiveMessage[]
  sessions: readonly Session[]
  /** Oldest first. */
  messages: readonly Message[]
  /** Whether the server might have older messages; `reading` while they are requested. */
  older: 'maybe' | 'reading' | 'none'
  /** The diff, or the reason why there is none. */
  diff?: Diff | string
  /** Whether events since the last request for the diff might have changed files. */
  isDiffStale: boolean
  isDiffComing: boolean
}

export const messagesAtOnce = 100

export const unreadCard = (cardId: string): OpenedCard => ({
  cardId,
  early: [],
  sessions: [],
  messages: [],
  older: 'maybe',
  isDiffStale: true,
  isDiffComing: false,
})

/** Applies the events about the card, its sessions and its messages. */
export function withLiveEvents<T extends OpenedCard>(opened: T, events: readonly LiveMessage[]): T {
  if (!opened.card) return { ...opened, early: [...opened.early, ...events] }
  return events.reduce((now, { type, data }) => {
    if (type === 'agent.status' || type === 'agent.usage') return withSession(now, data as Session)
    if (type === 'agent.message' || type === 'agent.tool' || type === 'agent.plan')
      return withMessage(now, data as Message)
    if (
      type.startsWith('card.') &&
      type !== 'card.viewed' &&
      type !== 'card.deleted' &&
      (data as CardDetail).id === now.cardId
    )
      return withCard(now, data as CardDetail)
    return now
  }, opened)
}

/** Applies the read state, and then the events that arrived in the meantime. */
export function withRead<T extends OpenedCard>(
  opened: T,
  { card, sessions, messages }: Required<Pick<OpenedCard, 'card' | 'sessions' | 'messages'>>,
): T {
  const read = {
    ...opened,
    card,
    sessions,
    messages: mergeMessages(opened.messages, messages),
    older: messages.length < messagesAtOnce ? ('none' as const) : ('maybe' as const),
    early: [],
  }
  return withLiveEvents(read, opened.early)
}

const withCard = <T extends OpenedCard>(opened: T, card: CardDetail): T =>
  opened.card && opened.card.version > card.version ? opened : { ...opened, card }

function withSession<T extends OpenedCard>(opened: T, session: Session): T {
  if (session.cardId !== opened.cardId || session.sessionId === null) return opened
  const others = opened.sessions.filter(({ sessionId }) => sessionId !== session.sessionId)
  return {
    ...opened,
    isDiffStale: true,
    sessions: [...others, session].sort((a, b) => Number(a.sessionId) - Number(b.sessionId)),
  }
}

/** A growing message arrives repeatedly, each time as a whole. */
function withMessage<T extends OpenedCard>(opened: T, message: Message): T {
  if (!opened.sessions.some(({ sessionId }) => sessionId === message.sessionId)) return opened
  const isDiffStale = opened.isDiffStale || message.tool?.status === 'completed'
  return { ...opened, isDiffStale, messages: mergeMessages(opened.messages, [message]) }
}

/** Messages in order. Of two messages with the same ID, the later one counts. */
export function mergeMessages(messages: readonly Message[], more: readonly Message[]): Message[] {
  const last = messages.at(-1)
  const only = more.length === 1 ? more[0]! : undefined
  if (only && last && Number(only.id) > Number(last.id)) return [...messages, only]
  if (only && last?.id === only.id) return [...messages.slice(0, -1), only]
  const byId = new Map(messages.map(message => [message.id, message]))
  for (const message of more) byId.set(message.id, message)
  return [...byId.values()].sort((a, b) => Number(a.id) - Number(b.id))
}

/** The session that the card shows: the latest. */
export const latestSession = ({ sessions }: OpenedCard): Session | undefined => sessions.at(-1)
