import type { LiveMessage } from '../../src/client/socket.ts'

/** The fields of events that the sentences use. */
interface Data {
  id?: string
  title?: string
  name?: string
  columnName?: string
  status?: string
  mergedInto?: string | null
  cardId?: string | null
  cardTitle?: string | null
  agent?: string | null
  waitingFor?: string | null
  role?: string
  content?: string
  tool?: { name: string; status: string } | null
  message?: string
  author?: { displayName: string }
  body?: string
}

/** The part of a sentence that follows the name of the card. */
const phrases: Record<string, (data: Data) => string> = {
  'card.created': ({ columnName }) => `created in ${columnName}`,
  'card.updated': ({ status }) => `changed, is ${status}`,
  'card.moved': ({ columnName }) => `moved to ${columnName}`,
  'card.unarchived': () => 'restored from the archive',
  'card.restored': () => 'restored from the trash',
  'card.merged': ({ mergedInto }) => `merged into ${mergedInto}`,
  'card.ready': () => 'ready, not blocked',
  'agent.status': ({ agent, status, waitingFor }) =>
    `${agent ?? 'the agent'} is ${status}${waitingFor ? `: ${waitingFor}` : ''}`,
  'agent.message': ({ role, content }) => `${role} writes: ${lineOf(content)}`,
  'agent.tool': ({ tool }) => `tool ${tool?.name}, ${tool?.status}`,
  'agent.plan': () => 'the agent changed its plan',
  'agent.permission': ({ title }) => `question from the agent: ${title}`,
  'agent.usage': () => 'the usage of the agent changed',
  notification: ({ message }) => message ?? '',
  'comment.created': ({ author, body }) => `${author?.displayName} comments: ${lineOf(body)}`,
}

/** An event as a sentence that names the card: `Card 12 "Fix the login": moved to Done`. */
export function eventSentence({ type, data }: LiveMessage): string {
  const told = (data ?? {}) as Data
  const [noun = '', verb = ''] = type.replaceAll('_', ' ').split('.')
  const { cardId = noun === 'card' ? told.id : undefined, cardTitle = noun === 'card' ? told.title : undefined } = told
  const phrase = phrases[type]?.(told)
  if (cardId !== undefined && cardId !== null)
    return `Card ${cardId}${quote(cardTitle)}: ${phrase ?? (noun === 'card' ? verb : `${noun} ${verb}`)}`
  if (phrase !== undefined) return told.cardTitle ? `${told.cardTitle}: ${phrase}` : phrase
  return `${noun.slice(0, 1).toUpperCase()}${noun.slice(1)}${told.id === undefined ? '' : ` ${told.id}`}${quote(told.name ?? told.title)}: ${verb}`
}

const quote = (text: string | null | undefined): string => (text ? ` "${text}"` : '')

const lineOf = (text = ''): string => text.trim().split('\n')[0]!.slice(0, 200)
