import { Problem } from '../../src/contract/errors.ts'
import type { EventData } from '../../src/contract/events.ts'
import type { StoredEvent } from '../../src/events/outbox.ts'
import type { Reader } from '../../src/store/database.ts'
import type { Connection } from './connection.ts'
import type { Frame } from './frame.ts'
import { requireSight } from './messages.ts'

/** Sends a notification if it is to the socket's user, who can still see its project. Who reads slowly misses it: it is news, and nothing is kept for later. */
export async function tellNotification(db: Reader, connection: Connection, event: StoredEvent, frame: () => Frame): Promise<void> {
  const { userId, projectId } = JSON.parse(event.data) as EventData<'notification'>
  if (String(connection.caller.userId) !== userId || !await isSeen(db, connection, Number(projectId))) return
  if (!connection.isCongested) connection.send(frame())
}

const isSeen = (db: Reader, { caller }: Connection, projectId: number): Promise<boolean> => requireSight(db, caller, projectId).then(() => true, (error: unknown) => {
  if (error instanceof Problem && error.status < 500) return false
  throw error
})
