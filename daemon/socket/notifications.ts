import { createSerialQueue } from '../../src/async/serialQueue.ts'
import type { EventData } from '../../src/contract/server/events.ts'
import { audienceOf } from '../../src/domain/accounts/eventAudience.ts'
import type { StoredEvent } from '../../src/events/outbox.ts'
import type { Reader } from '../../src/store/engine/database.ts'
import type { Log } from '../process/stderrLog.ts'
import type { Connection } from './connection.ts'
import type { PersonalConsumer } from './fanOut.ts'
import type { Feed } from './feed.ts'
import { eventFrame } from './frame.ts'
import { canRead } from './messages.ts'

const maxWaiting = 100

/**
 * Sends a socket the notifications of its user about visible projects, in order. For a slow client at most a hundred are queued; later ones
 * are dropped, because notifications are not stored. Access checks delay notifications, so that events of the feed can overtake them. The
 * seq of a notification is that of the newest event that the socket has received by then.
 */
export function createNotificationConsumer(
  db: Reader,
  connection: Connection,
  feed: Pick<Feed, 'newestSeq'>,
  log: Log,
): PersonalConsumer {
  let waiting = 0
  let lastSeq = 0
  const queue = createSerialQueue()
  const sendNotification = async (projectId: number, event: StoredEvent) => {
    await connection.drained()
    for (;;) {
      const { rightsVersion } = connection
      if (connection.ended || !(await canRead(db, connection, projectId))) return
      if (connection.rightsVersion === rightsVersion) break
    }
    const visible = audienceOf(connection.caller.key?.permissions).view(event)
    lastSeq = Math.max(lastSeq, feed.newestSeq() ?? event.seq)
    if (visible) connection.send(eventFrame({ ...visible, seq: lastSeq }))
  }
  return (event, recipientId) => {
    if (event.type !== 'notification' || String(connection.caller.userId) !== recipientId || waiting >= maxWaiting)
      return
    waiting++
    const { projectId } = JSON.parse(event.data) as EventData<'notification'>
    void queue(() => sendNotification(Number(projectId), event))
      .catch((error: unknown) => log('error', 'A notification could not be sent.', { cause: String(error) }))
      .finally(() => {
        waiting--
      })
  }
}
