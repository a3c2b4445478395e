import type { EventData } from '../contract/events.ts'
import type { NotificationKind } from '../contract/notifications.ts'
import type { StoredEvent } from '../events/outbox.ts'
import { readCard } from '../store/cards.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { forgetWaiting, noteWaiting } from '../store/notifications.ts'
import { readSession, type SessionRow } from '../store/sessions.ts'

type Session = EventData<'agent.status'>
type Monitor = EventData<'monitor.updated'>

/** Something that people want to hear of. */
export interface News {
  kind: NotificationKind
  projectId: number
  cardId: number
  cardTitle: string
  message: string
  at: string
}

/** The events in which there may be news. */
export const newsTypes = ['agent.status', 'monitor.updated'] as const

const maxMessageLength = 300
const kinds: Partial<Record<Session['status'], NotificationKind>> = {
  completed: 'agentCompleted',
  failed: 'agentFailed',
  waiting: 'agentWaiting',
}
/** Talks: who asks is there and sees the answer. */
const talks: readonly string[] = ['pre', 'assistant'] satisfies Array<SessionRow['purpose']>

/** What an event has for people, if anything. Of a session that goes on waiting it is told once, and nothing of cards that are gone. */
export async function newsOf(tx: Transaction, event: StoredEvent): Promise<News | undefined> {
  if (event.projectId === null) return undefined
  const data = JSON.parse(event.data) as Session | Monitor
  const found = event.type === 'agent.status' ? await ofSession(tx, data as Session) : ofMonitor(data as Monitor)
  return found && about(tx, event, Number(data.cardId), found)
}

type Found = Pick<News, 'kind' | 'message'>

async function ofSession(tx: Transaction, told: Session): Promise<Found | undefined> {
  const id = Number(told.sessionId)
  const kind = kinds[told.status]
  if (told.status !== 'waiting') await forgetWaiting(tx, id)
  if (!kind || (told.status === 'waiting' && !(await noteWaiting(tx, id)))) return undefined
  const session = await readSession(tx, id)
  return session && !talks.includes(session.purpose) ? { kind, message: sessionMessage(told, session) } : undefined
}

/** The row may have gone on since: it tells more only of the status that it still has. */
function sessionMessage({ status, statusReason, summary }: Session, row: SessionRow): string {
  const who = row.purpose === 'terminal' ? 'The command' : 'The agent'
  if (status === 'completed')
    return `${who} has completed its work${row.purpose !== 'terminal' && summary ? `: ${summary}` : '.'}`
  const more = row.status !== status ? null : status === 'failed' ? row.detail : titleOf(row)
  return status === 'failed'
    ? `${who} has failed: ${more ?? statusReason ?? 'its messages tell why.'}`
    : `${who} waits for you${more ? `: ${more}` : '.'}`
}

const titleOf = ({ waitingFor }: SessionRow): string | null =>
  waitingFor === null ? null : ((JSON.parse(waitingFor) as Array<{ title: string }>)[0]?.title ?? null)

function ofMonitor({ status, description, command, exitCode, error }: Monitor): Found | undefined {
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

async function about(
  db: Reader,
  { projectId, at }: StoredEvent,
  cardId: number,
  { kind, message }: Found,
): Promise<News | undefined> {
  const card = await readCard(db, projectId!, cardId)
  return (
    card && { kind, projectId: projectId!, cardId, cardTitle: card.title, message: cut(message, maxMessageLength), at }
  )
}

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`
