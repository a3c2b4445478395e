import { createSerialQueue } from '../../src/async/serialQueue.ts'
import { Problem } from '../../src/contract/errors.ts'
import { audienceOf } from '../../src/domain/eventAudience.ts'
import type { Reader } from '../../src/store/database.ts'
import type { Log } from '../process/stderrLog.ts'
import type { Connection } from './connection.ts'
import type { FrameFor, NotificationConsumer } from './fanOut.ts'
import { requireReadAccess } from './messages.ts'

const maxWaiting = 100

/**
 * Sends a socket the notifications of its user about visible projects, in order. For a slow client at most a hundred
 * are queued; later ones are dropped, because notifications are not stored.
 */
export function createNotificationConsumer(db: Reader, connection: Connection, log: Log): NotificationConsumer {
  let waiting = 0
  const queue = createSerialQueue()
  const tell = async (projectId: number, frameFor: FrameFor) => {
    await connection.drained()
    for (;;) {
      const { rightsVersion } = connection
      if (connection.ended || !(await isSeen(db, connection, projectId))) return
      if (connection.rightsVersion === rightsVersion) break
    }
    const frame = frameFor(audienceOf(connection.caller.key?.permissions))
    if (frame) connection.send(frame)
  }
  return ({ userId, projectId }, frameFor) => {
    if (String(connection.caller.userId) !== userId || waiting >= maxWaiting) return
    waiting++
    void queue(() => tell(Number(projectId), frameFor))
      .catch((error: unknown) => log('error', 'A notification could not be sent.', { cause: String(error) }))
      .finally(() => {
        waiting--
      })
  }
}

const isSeen = (db: Reader, { caller }: Connection, projectId: number): Promise<boolean> =>
  requireReadAccess(db, caller, projectId).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Problem && error.status < 500) return false
      throw error
    },
  )
