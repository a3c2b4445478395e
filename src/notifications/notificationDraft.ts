import type { EventData } from '../contract/events.ts'
import type { NotificationKind } from '../contract/notifications.ts'
import { shownTime } from '../domain/shownTime.ts'
import type { StoredEvent } from '../events/outbox.ts'
import { readCard } from '../store/cards.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { forgetWaiting, noteWaiting } from '../store/notifications.ts'
import { readLatestSession, readSession, type AgentQuestion, type SessionRow } from '../store/sessions.ts'

type Session = EventData<'agent.status'>
type Monitor = EventData<'monitor.updated'>

/** A notification before its recipients are known. */
export interface NotificationDraft {
  kind: NotificationKind
  projectId: number
  cardId: number
  cardTitle: string
  message: string
  at: string
}

/** The event types that can lead to a notification. */
export const notifyingEventTypes = ['agent.status', 'monitor.updated'] as const

const maxMessageLength = 300
const kinds: Partial<Record<Session['status'], NotificationKind>> = {
  completed: 'agentCompleted',
  failed: 'agentFailed',
  waiting: 'agentWaiting',
}
/** Sessions that notify nobody: the person who asks is present and sees the answer. */
const conversationPurposes: readonly string[] = ['pre', 'assistant'] satisfies Array<SessionRow['purpose']>

/** The notification that an event leads to, if any. A session that keeps waiting notifies once; events of deleted cards, and a usage limit after which the card goes on, notify nobody. */
export async function createDraft(tx: Transaction, event: StoredEvent): Promise<NotificationDraft | undefined> {
  if (event.projectId === null) return undefined
  const data = JSON.parse(event.data) as Session | Monitor
  const content =
    event.type === 'agent.status' ? await sessionContent(tx, data as Session) : monitorContent(data as Monitor)
  return content && withCard(tx, event, Number(data.cardId), content)
}

type Content = Pick<NotificationDraft, 'kind' | 'message'>

async function sessionContent(tx: Transaction, data: Session): Promise<Content | undefined> {
  const id = Number(data.sessionId)
  const kind = kinds[data.status]
  if (data.status !== 'waiting') await forgetWaiting(tx, id)
  if (!kind || (data.status === 'waiting' && !(await noteWaiting(tx, id)))) return undefined
  const session = await readSession(tx, id)
  if (session && data.statusReason === 'usage_limit' && (await readLatestSession(tx, session.cardId))?.id !== id)
    return undefined
  return session && !conversationPurposes.includes(session.purpose)
    ? { kind, message: sessionMessage(data, session) }
    : undefined
}

/** The row may have a newer status than the event: its details count only while the statuses agree. */
function sessionMessage({ status, statusReason, summary, silentSince }: Session, row: SessionRow): string {
  const who = row.purpose === 'terminal' ? 'The command' : 'The agent'
  if (status === 'completed')
    return `${who} has completed its work${row.purpose !== 'terminal' && summary ? `: ${summary}` : '.'}`
  if (status === 'waiting' && statusReason === 'silent')
    return `${who} has said nothing${silentSince ? ` since ${shownTime(silentSince)}` : ''}, and its processes do nothing.`
  const more = row.status !== status ? null : status === 'failed' ? row.detail : titleOf(row)
  return status === 'failed'
    ? `${who} has failed: ${more ?? statusReason ?? 'its messages tell why.'}`
    : `${who} waits for you${more ? `: ${more}` : '.'}`
}

/** What the oldest question says, with what would run where its words are not that. */
function titleOf({ waitingFor }: SessionRow): string | null {
  const [asked] = waitingFor === null ? [] : (JSON.parse(waitingFor) as AgentQuestion[])
  if (!asked) return null
  const command = asked.command?.replace(/\s+/g, ' ') ?? asked.title
  return command === asked.title ? asked.title : `${asked.title} ($ ${command})`
}

function monitorContent({ status, description, command, exitCode, error }: Monitor): Content | undefined {
  const name = `The monitor "${cut(description ?? command, 100)}"`
  if (status === 'failing')
    return {
      kind: 'monitorFailing',
      message: `${name} fails${exitCode === null ? '' : ` with exit code ${exitCode}`}.`,
    }
  if (status === 'timeout') return { kind: 'monitorFailing', message: `${name} has taken too long.` }
  return status === 'error'
    ? { kind: 'monitorFailing', message: `${name} cannot run: ${error ?? 'its record tells why.'}` }
    : undefined
}

async function withCard(
  db: Reader,
  { projectId, at }: StoredEvent,
  cardId: number,
  { kind, message }: Content,
): Promise<NotificationDraft | undefined> {
  const card = await readCard(db, projectId!, cardId)
  return (
    card && { kind, projectId: projectId!, cardId, cardTitle: card.title, message: cut(message, maxMessageLength), at }
  )
}

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
