import type { Outbox } from '../../src/events/outbox.ts'
import type { Log } from '../log.ts'
import { closeCodes, type Connection } from './connection.ts'
import type { FanOut, Follower } from './fanOut.ts'
import { eventFrame, resyncFrame, subscribedFrame } from './frame.ts'

const pageSize = 32

/** How far one socket has got in one project. */
interface Cursor extends Follower {
  /** Every event of the project up to here was sent. */
  seq: number
  /** What is missing is read from the database; else each new event is sent as it comes. */
  behind: boolean
  /** The newest event that came while the cursor was behind, and the size of all of them. */
  newest: number
  owedBytes: number
  /** Whether the client waits to be told that it follows the project. */
  announce: boolean
}

/** The projects that one socket follows. */
export interface Feed {
  /** Sends every event of the project after `since`, or after now, and goes on with new ones: none twice, none left out. */
  subscribe(projectId: number, since?: number): Promise<void>
  unsubscribe(projectId: number): void
  projects(): number[]
  /** How many bytes of new events the client has not been sent because it reads slowly. */
  owedBytes(): number
  close(): void
}

export function createFeed(connection: Connection, outbox: Outbox, fanOut: FanOut, now: () => string, log: Log): Feed {
  const cursors = new Map<number, Cursor>()
  const catchUp = createCatchUp(connection, outbox, cursors, now, log)

  const drop = (cursor: Cursor) => {
    fanOut.leave(cursor)
    cursors.delete(cursor.projectId)
  }
  const start = (projectId: number, seq: number): Cursor => {
    const cursor: Cursor = {
      projectId, seq, behind: true, newest: 0, owedBytes: 0, announce: true,
      offer: (event, frame) => {
        if (cursor.behind || connection.isCongested()) {
          Object.assign(cursor, { behind: true, newest: event.seq, owedBytes: cursor.owedBytes + event.data.length })
          return catchUp()
        }
        if (event.seq <= cursor.seq) return
        connection.send(frame())
        cursor.seq = event.seq
      },
    }
    return cursor
  }

  return {
    subscribe: async (projectId, since) => {
      const present = cursors.get(projectId)
      if (present && since === undefined) {
        present.announce = true
        present.behind = true
        return catchUp()
      }
      if (present) drop(present)
      const last = await outbox.lastSeq()
      if (connection.ended) return
      if (since !== undefined && since > last) connection.send(resyncFrame(projectId, last, now()))
      const cursor = start(projectId, Math.min(since ?? last, last))
      cursors.set(projectId, cursor)
      fanOut.join(cursor, last)
      catchUp()
    },
    unsubscribe: projectId => {
      const cursor = cursors.get(projectId)
      if (cursor) drop(cursor)
    },
    projects: () => [...cursors.keys()],
    owedBytes: () => [...cursors.values()].reduce((total, cursor) => total + cursor.owedBytes, 0),
    close: () => { for (const cursor of [...cursors.values()]) drop(cursor) },
  }
}

/** Makes the function that sends cursors what they are behind by, a page at a time, never more than the socket takes. */
function createCatchUp(connection: Connection, outbox: Outbox, cursors: Map<number, Cursor>, now: () => string, log: Log): () => void {
  let running = false
  const isFollowed = (cursor: Cursor) => !connection.ended && cursors.get(cursor.projectId) === cursor

  const run = async () => {
    running = true
    try {
      for (let behind = listBehind(); behind.length > 0; behind = listBehind()) for (const cursor of behind) await advance(cursor)
    } catch (error) {
      log('error', 'Events could not be read for a socket.', { cause: String(error) })
      connection.end(closeCodes.failed, 'The server could not read its events.')
    }
    running = false
  }
  const listBehind = () => connection.ended ? [] : [...cursors.values()].filter(cursor => cursor.behind)

  const advance = async (cursor: Cursor) => {
    await connection.drained()
    const last = await outbox.lastSeq()
    const page = await outbox.replay(cursor.projectId, cursor.seq, pageSize)
    const oldest = await outbox.oldestSeq()
    if (!isFollowed(cursor)) return
    if (cursor.seq < oldest - 1) return skipTo(cursor, last)
    for (const event of page) {
      await connection.drained()
      if (!isFollowed(cursor)) return
      connection.send(eventFrame(event))
      cursor.seq = event.seq
    }
    if (page.length === pageSize) return new Promise(setImmediate)
    cursor.seq = Math.max(cursor.seq, last)
    if (cursor.announce) connection.send(subscribedFrame(cursor.projectId, cursor.seq))
    cursor.announce = false
    if (cursor.newest <= cursor.seq) Object.assign(cursor, { behind: false, owedBytes: 0 })
  }

  /** Events that the client has not seen were deleted. */
  const skipTo = (cursor: Cursor, seq: number) => {
    cursor.seq = seq
    connection.send(resyncFrame(cursor.projectId, seq, now()))
  }

  return () => { if (!running) void run() }
}
