import type { Reader } from '../../src/store/engine/database.ts'
import type { Log } from '../process/stderrLog.ts'
import type { Connection } from './connection.ts'
import type { PersonalConsumer } from './fanOut.ts'
import type { Feed } from './feed.ts'
import { eventFrame } from './frame.ts'
import { canRead } from './messages.ts'

/** The minimum time between two updates. After each one, the client reads the inbox. */
const intervalMs = 1000

/**
 * Sends a socket `inbox.updated` after a change of a visible project that can change its user's inbox, and after a change of marks by
 * another client of the user. Sockets of API keys and agents receive none.
 */
export function createInboxConsumer(
  db: Reader,
  connection: Connection,
  feed: Pick<Feed, 'newestSeq'>,
  log: Log,
): PersonalConsumer {
  const projects = new Set<number>()
  let [isDue, lastSeq, at] = [false, 0, '']
  let timer: NodeJS.Timeout | undefined

  const send = async () => {
    const changed = [...projects]
    projects.clear()
    let isChanged = isDue
    isDue = false
    for (const projectId of changed) isChanged ||= await canRead(db, connection, projectId)
    await connection.drained()
    if (!isChanged || connection.ended) return
    lastSeq = Math.max(lastSeq, feed.newestSeq() ?? 0)
    const data = JSON.stringify({ userId: String(connection.caller.userId) })
    connection.send(eventFrame({ type: 'inbox.updated', data, seq: lastSeq, projectId: null, at }))
  }
  return (event, recipientId) => {
    const { key, agent, userId } = connection.caller
    if (key || agent) return
    if (recipientId !== undefined) {
      if (recipientId !== String(userId)) return
      isDue = true
    } else if (event.projectId !== null) projects.add(event.projectId)
    at = event.at
    if (feed.newestSeq() === undefined) lastSeq = event.seq
    timer ??= setTimeout(() => {
      timer = undefined
      send().catch((error: unknown) => log('error', 'An inbox update could not be sent.', { cause: String(error) }))
    }, intervalMs).unref()
  }
}
