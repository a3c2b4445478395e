import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import type { LiveMessage } from '../../../src/client/socket.ts'
import type { CardDetail } from './cardCache.ts'

export type Session = Output<Contract['agents']['sessions']>[number]
export type Message = Output<Contract['agents']['messages']>[number]
export type Diff = Output<Contract['agents']['diff']>

export const tabs = ['prompt', 'transcript', 'diff'] as const
export type Tab = (typeof tabs)[number]

/** A card that is looked at whole. */
export interface Opened {
  cardId: string
  /** Undefined until it has been read. */
  card?: CardDetail
  /** What was told before the card had been read. */
  early: readonly LiveMessage[]
  sessions: readonly Session[]
  /** Oldest first. */
  messages: readonly Message[]
  /** Older ones may be on the server; `reading` while they are asked for. */
  older: 'maybe' | 'reading' | 'none'
  /** The reason instead, where there is no diff. */
  diff?: Diff | string
  /** What was told may have changed files since the diff was asked for. */
  isDiffStale: boolean
  isDiffComing: boolean
  tab: Tab
  /** The first line that is seen of each tab. */
  tops: Readonly<Record<Tab, number>>
  /** The transcript stays at its end. */
  follows: boolean
}

export const messagesAtOnce = 200

export const openedOf = (cardId: string, tab: Tab): Opened => ({
  cardId,
  early: [],
  sessions: [],
  messages: [],
  older: 'maybe',
  isDiffStale: true,
  isDiffComing: false,
  tab,
  tops: { prompt: 0, transcript: 0, diff: 0 },
  follows: true,
})

/** Takes over what events tell of the card, of its sessions and of what is said in them. */
export function withLiveEvents(opened: Opened, events: readonly LiveMessage[]): Opened {
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

/** Takes over what was read, and then what was told meanwhile. */
export function withRead(
  opened: Opened,
  { card, sessions, messages }: Required<Pick<Opened, 'card' | 'sessions' | 'messages'>>,
): Opened {
  const read = {
    ...opened,
    card,
    sessions,
    messages: merged(opened.messages, messages),
    older: messages.length < messagesAtOnce ? ('none' as const) : ('maybe' as const),
    early: [],
  }
  return withLiveEvents(read, opened.early)
}

const withCard = (opened: Opened, card: CardDetail): Opened =>
  opened.card && opened.card.version > card.version ? opened : { ...opened, card }

function withSession(opened: Opened, session: Session): Opened {
  if (session.cardId !== opened.cardId || session.sessionId === null) return opened
  const others = opened.sessions.filter(({ sessionId }) => sessionId !== session.sessionId)
  return {
    ...opened,
    isDiffStale: true,
    sessions: [...others, session].sort((a, b) => Number(a.sessionId) - Number(b.sessionId)),
  }
}

/** A message comes again and again, whole, while it grows. */
function withMessage(opened: Opened, message: Message): Opened {
  if (!opened.sessions.some(({ sessionId }) => sessionId === message.sessionId)) return opened
  const isDiffStale = opened.isDiffStale || message.tool?.status === 'completed'
  return { ...opened, isDiffStale, messages: merged(opened.messages, [message]) }
}

/** Messages in order, the later of two with one id. */
export function merged(messages: readonly Message[], more: readonly Message[]): Message[] {
  const last = messages.at(-1)
  const only = more.length === 1 ? more[0]! : undefined
  if (only && last && Number(only.id) > Number(last.id)) return [...messages, only]
  if (only && last?.id === only.id) return [...messages.slice(0, -1), only]
  const byId = new Map(messages.map(message => [message.id, message]))
  for (const message of more) byId.set(message.id, message)
  return [...byId.values()].sort((a, b) => Number(a.id) - Number(b.id))
}

/** The session that the card shows: the latest. */
export const latestSession = ({ sessions }: Opened): Session | undefined => sessions.at(-1)
