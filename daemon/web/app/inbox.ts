import { inboxKinds, type InboxKind } from '../../../src/contract/cards/inboxKinds.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followMine, liveState } from './live.ts'
import { client, reloadCount } from './session.ts'
import { Store } from './store.ts'

type Inbox = Output<Contract['inbox']['list']>
export type InboxItem = Inbox['items'][number]
export interface InboxQuery {
  state: 'open' | 'snoozed' | 'done'
  kind?: InboxKind
  projectId?: string
  limit: number
}

export const firstQuery: InboxQuery = { state: 'open', limit: 50 }
/** The filter of the list. The number of unread items does not depend on it. */
export const inboxQuery = new Store<InboxQuery>(firstQuery)
/** The list that was last read. Undefined until then. */
export const inbox = new Store<Inbox | undefined>(undefined)

/** Items appear at a time, such as a due date, without an event. */
const pollMs = 60_000
let reading: Promise<void> | undefined
let isOutdated = false

/** Reads the inbox, and again if this is called during the read. */
export function readInbox(): Promise<void> {
  isOutdated = true
  return (reading ??= readUntilCurrent().finally(() => (reading = undefined)))
}

async function readUntilCurrent(): Promise<void> {
  while (isOutdated) {
    isOutdated = false
    const { projectId, ...query } = inboxQuery.get()
    inbox.set(await client.inbox.list({ ...query, ...(projectId !== undefined && { projectId: Number(projectId) }) }))
  }
}

/** Keeps the inbox current. @returns a function that stops */
export function followInbox(): () => void {
  const read = () => void (document.hidden || readInbox().catch(() => undefined))
  const ends = [
    followMine(events => {
      if (events.some(({ type }) => type === 'inbox.updated' || type === 'notification'))
        readInbox().catch(() => undefined)
    }),
    liveState.subscribe(() => liveState.get() === 'open' && read()),
    inboxQuery.subscribe(read),
    reloadCount.subscribe(read),
  ]
  const timer = setInterval(read, pollMs)
  document.addEventListener('visibilitychange', read)
  read()
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', read)
    for (const end of ends) end()
  }
}

type Mark = Parameters<typeof client.inbox.mark>[0]

export async function markInbox(change: Mark): Promise<void> {
  await client.inbox.mark(change)
  await readInbox()
}

/** Marks the items of a card as read, because the person sees the card. */
export function markCardRead(cardId: string): void {
  const known = inbox.get()
  if (!known || known.unread === 0) return
  const { state, kind, projectId } = inboxQuery.get()
  const isWhole = known.nextCursor === null && state === 'open' && kind === undefined && projectId === undefined
  const isUnread = known.items.some(item => item.cardId === cardId && item.state === 'unread')
  if (isWhole && !isUnread) return
  // If this changes an item, an event follows. Reading the inbox here would repeat the call without end.
  client.inbox.mark({ ids: inboxKinds.map(kind => `${kind}-${cardId}`), state: 'read' }).catch(() => undefined)
}
