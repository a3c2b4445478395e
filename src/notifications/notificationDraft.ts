import type { EventData } from '../contract/server/events.ts'
import type { NotificationKind } from '../contract/automation/notifications.ts'
import { describeExhausted, describeWarned } from '../domain/agents/budgetState.ts'
import { plainMentions } from '../contract/cards/mentions.ts'
import { shownTime } from '../domain/cards/shownTime.ts'
import type { StoredEvent } from '../events/outbox.ts'
import { readCard } from '../store/cards/cards.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { forgetWaiting, noteWaiting } from '../store/automation/notifications.ts'
import { watchingOf, type Watching } from '../views/cards.ts'
import type { SessionPurpose } from '../store/agents/sessionPurposes.ts'
import { readLatestSession, readSession, type AgentQuestion, type SessionRow } from '../store/agents/sessions.ts'

type Session = EventData<'agent.status'>
type Monitor = EventData<'monitor.updated'>
type Comment = EventData<'comment.created'>
type Assigned = EventData<'card.assigned'>
type Budget = EventData<'budget.warned'>

/** A notification before its recipients are known. */
export interface NotificationDraft {
  kind: NotificationKind
  projectId: number
  cardId: number
  cardTitle: string
  message: string
  at: string
  /** The recipients. By default, the users who work on the project and those who watch the card. */
  to?: readonly number[]
  /** The affected budget, whose owners are also notified. */
  budgetId?: number
  watching: Watching
}

/** The event types that can lead to a notification. */
export const notifyingEventTypes = [
  'agent.status',
  'monitor.created',
  'monitor.updated',
  'comment.created',
  'comment.updated',
  'card.assigned',
  'budget.warned',
  'budget.exhausted',
] as const

const maxMessageLength = 300
const kinds: Partial<Record<Session['status'], NotificationKind>> = {
  completed: 'agentCompleted',
  failed: 'agentFailed',
  waiting: 'agentWaiting',
}
/** Sessions without notifications: users see the answers of conversations, and the result of a review belongs to its gate. */
const quietPurposes: readonly SessionPurpose[] = ['pre', 'assistant', 'review']

/**
 * The notifications that an event triggers. A session that continues to wait triggers one. Events of deleted cards, and a usage
 * limit after which the card continues, trigger none.
 */
export async function createDrafts(tx: Transaction, event: StoredEvent): Promise<NotificationDraft[]> {
  if (event.projectId === null) return []
  const data = JSON.parse(event.data) as Session | Monitor | Comment | Assigned | Budget
  if (event.type === 'card.assigned')
    return withCard(tx, event, Number((data as Assigned).id), [assignment(data as Assigned)])
  const contents = await contentsOf(tx, event.type, data)
  return withCard(tx, event, Number((data as Session | Monitor | Comment | Budget).cardId), contents)
}

async function contentsOf(tx: Transaction, type: StoredEvent['type'], data: unknown): Promise<Content[]> {
  if (type === 'comment.created' || type === 'comment.updated') return commentContents(type, data as Comment)
  if (type.startsWith('budget.')) return [budgetContent(data as Budget)]
  if (type === 'monitor.created') return monitorQuestion(data as Monitor)
  const content = type === 'agent.status' ? await sessionContent(tx, data as Session) : monitorContent(data as Monitor)
  return content ? [content] : []
}

type Content = Pick<NotificationDraft, 'kind' | 'message' | 'to' | 'budgetId'> & {
  /** The notification goes to the users who watch the card, except these accounts. */
  butNot?: readonly number[]
}

async function sessionContent(tx: Transaction, data: Session): Promise<Content | undefined> {
  const id = Number(data.sessionId)
  // An exhausted budget triggers one notification, not one for each card that waits for it.
  const kind = data.statusReason === 'budget' ? undefined : kinds[data.status]
  if (data.status !== 'waiting') await forgetWaiting(tx, id)
  if (!kind || (data.status === 'waiting' && !(await noteWaiting(tx, id)))) return undefined
  const session = await readSession(tx, id)
  if (session && data.statusReason === 'usage_limit' && (await readLatestSession(tx, session.cardId))?.id !== id)
    return undefined
  return session && !quietPurposes.includes(session.purpose)
    ? { kind, message: sessionMessage(data, session) }
    : undefined
}

/** The row can have a newer status than the event. Its details count only while the statuses agree. */
function sessionMessage({ status, statusReason, summary, silentSince }: Session, row: SessionRow): string {
  const who = row.purpose === 'terminal' ? 'The command' : 'The agent'
  if (status === 'completed')
    return `${who} has completed its work${row.purpose !== 'terminal' && summary ? `: ${summary}` : '.'}`
  if (status === 'waiting' && statusReason === 'silent')
    return `${who} has sent no output${silentSince ? ` since ${shownTime(silentSince)}` : ''}, and its processes are idle.`
  const more = row.status !== status ? null : status === 'failed' ? row.detail : titleOf(row)
  return status === 'failed'
    ? `${who} has failed: ${more ?? statusReason ?? 'its messages contain the reason.'}`
    : `${who} is waiting for you${more ? `: ${more}` : '.'}`
}

/** The title of the oldest question, with the command if the title differs from it. */
function titleOf({ waitingFor }: SessionRow): string | null {
  const [asked] = waitingFor === null ? [] : (JSON.parse(waitingFor) as AgentQuestion[])
  if (!asked) return null
  const command = asked.command?.replace(/\s+/g, ' ') ?? asked.title
  return command === asked.title ? asked.title : `${asked.title} ($ ${command})`
}

function monitorContent({ status, description, command, exitCode, error }: Monitor): Content | undefined {
  const name = `The monitor "${truncate(description ?? command, 100)}"`
  if (status === 'failing')
    return {
      kind: 'monitorFailing',
      message: `${name} failed${exitCode === null ? '' : ` with exit code ${exitCode}`}.`,
    }
  if (status === 'timeout') return { kind: 'monitorFailing', message: `${name} timed out.` }
  return status === 'error'
    ? { kind: 'monitorFailing', message: `${name} cannot run: ${error ?? 'its record contains the reason.'}` }
    : undefined
}

/** A new monitor that waits for a user's permission. */
const monitorQuestion = ({ requestId, command }: Monitor): Content[] =>
  requestId === null
    ? []
    : [
        {
          kind: 'agentWaiting',
          message: `The agent requests permission to run a monitor: $ ${command.replace(/\s+/g, ' ')}`,
        },
      ]

/** The mentioned accounts, and for a new comment the watchers of the card; never its author. */
function commentContents(type: 'comment.created' | 'comment.updated', { author, mentioned, body }: Comment): Content[] {
  const to = mentioned.filter(id => id !== author.userId).map(Number)
  const text = plainMentions(body)
  const others: Content = {
    kind: 'commented',
    message: `${author.displayName} commented: ${text}`,
    butNot: [...to, ...(author.userId === null ? [] : [Number(author.userId)])],
  }
  return [
    ...(to.length === 0
      ? []
      : [{ kind: 'mentioned' as const, message: `${author.displayName} mentioned you: ${text}`, to }]),
    ...(type === 'comment.created' ? [others] : []),
  ]
}

/** A user's own assignment triggers no notification for that user. */
function assignment({ assignedIds, by }: Assigned): Content {
  return {
    kind: 'assigned',
    message: `${by.name} assigned the card to you.`,
    to: assignedIds.filter(id => id !== by.userId).map(Number),
  }
}

function budgetContent(data: Budget): Content {
  const budget = { ...data, scopeId: Number(data.scopeId), amount: data.limit }
  return {
    kind: 'budget',
    budgetId: Number(data.id),
    message: data.state === 'exhausted' ? describeExhausted(budget) : describeWarned(budget),
  }
}

async function withCard(
  db: Reader,
  { projectId, at }: StoredEvent,
  cardId: number,
  contents: readonly Content[],
): Promise<NotificationDraft[]> {
  const card = contents.length === 0 ? undefined : await readCard(db, projectId!, cardId)
  if (!card) return []
  const watching = watchingOf(card)
  return contents.map(({ message, butNot, ...content }) => ({
    ...content,
    ...(butNot && { to: watching.watching.filter(id => !butNot.includes(id)) }),
    projectId: projectId!,
    cardId,
    cardTitle: card.title,
    message: truncate(message, maxMessageLength),
    at,
    watching,
  }))
}

const truncate = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
