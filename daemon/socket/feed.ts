import type { Outbox, StoredEvent } from '../../src/events/outbox.ts'
import type { Log } from '../log.ts'
import { closeCodes, type Connection } from './connection.ts'
import type { FanOut, Follower } from './fanOut.ts'
import { resyncFrame, subscribedFrame, type Frame } from './frame.ts'
import { firstPageSize, pageSize, type Pages } from './pages.ts'

/** Where feeds come from. `turn` is waited for before what is not the first. */
export interface Source {
  outbox: Outbox
  pages: Pages
  fanOut: FanOut
  turn: () => Promise<void>
  now: () => string
  log: Log
}

/** How far one socket has got in one project. */
interface Cursor extends Follower {
  /** Every event of the project up to here was sent. */
  seq: number
  /** What is missing is read from the database; else each new event is sent as it comes. */
  behind: boolean
  /** The newest event that came while the cursor was behind, and the size of all of them. */
  newest: number
  owedBytes: number
  /** How many events it is sent next at most. */
  pageSize: number
  /** Whether the client waits to be told that it follows the project. */
  announce: boolean
}

/** The projects that one socket follows. It gets each of their events, in order, none twice and none left out. */
export class Feed {
  readonly #connection: Connection
  readonly #source: Source
  readonly #cursors = new Map<number, Cursor>()
  #catchingUp = false

  constructor(connection: Connection, source: Source) {
    this.#connection = connection
    this.#source = source
  }

  /** Sends every event of the project after the seq `since`, or after now, then tells that it is followed. */
  async subscribe(projectId: number, since?: number): Promise<void> {
    const present = this.#cursors.get(projectId)
    if (present && since === undefined) return this.#fallBehind(Object.assign(present, { announce: true }))
    this.unsubscribe(projectId)
    const { outbox, fanOut, now } = this.#source
    const last = await outbox.lastSeq()
    if (this.#connection.ended) return
    if (since !== undefined && since > last) this.#connection.send(resyncFrame(projectId, last, now()))
    const cursor: Cursor = {
      projectId,
      seq: Math.min(since ?? last, last),
      behind: true,
      newest: 0,
      owedBytes: 0,
      pageSize: firstPageSize,
      announce: true,
      offer: (event, frame) => this.#take(cursor, event, frame),
    }
    this.#cursors.set(projectId, cursor)
    fanOut.join(cursor, last)
    this.#fallBehind(cursor)
  }

  unsubscribe(projectId: number): void {
    const cursor = this.#cursors.get(projectId)
    if (!cursor) return
    this.#source.fanOut.leave(cursor)
    this.#cursors.delete(projectId)
  }

  get projects(): number[] {
    return [...this.#cursors.keys()]
  }

  /** How many bytes of new events the client has not been sent because it reads slowly. */
  get owedBytes(): number {
    let total = 0
    for (const cursor of this.#cursors.values()) total += cursor.owedBytes
    return total
  }

  close(): void {
    for (const projectId of this.projects) this.unsubscribe(projectId)
  }

  #take(cursor: Cursor, event: StoredEvent, frame: () => Frame): void {
    if (cursor.behind || this.#connection.isCongested) {
      cursor.newest = event.seq
      cursor.owedBytes += event.data.length
      return this.#fallBehind(cursor)
    }
    if (event.seq <= cursor.seq) return
    this.#connection.send(frame())
    cursor.seq = event.seq
  }

  #fallBehind(cursor: Cursor): void {
    cursor.behind = true
    if (!this.#catchingUp) void this.#catchUp()
  }

  /** Sends what is missing, page by page, and never more than the socket takes. */
  async #catchUp(): Promise<void> {
    this.#catchingUp = true
    try {
      for (let behind = this.#behind(); behind.length > 0; behind = this.#behind())
        for (const cursor of behind) await this.#advance(cursor)
    } catch (error) {
      this.#source.log('error', 'Events could not be read for a socket.', { cause: String(error) })
      this.#connection.end(closeCodes.failed, 'The server could not read its events.')
    }
    this.#catchingUp = false
  }

  #behind(): Cursor[] {
    return this.#connection.ended ? [] : [...this.#cursors.values()].filter(cursor => cursor.behind)
  }

  /** Sends a page, each part in its turn: who misses much does not keep others waiting for their first event. */
  async #advance(cursor: Cursor): Promise<void> {
    const { pages, now } = this.#source
    const { parts, isFull, hasLost, last } = await pages.read(cursor.projectId, cursor.seq, cursor.pageSize)
    cursor.pageSize = pageSize
    for (const [index, { frames, seq }] of parts.entries()) {
      await this.#connection.drained()
      if (!this.#isFollowed(cursor)) return
      this.#connection.send(frames)
      cursor.seq = seq
      if (isFull || index < parts.length - 1) await this.#source.turn()
    }
    if (isFull || !this.#isFollowed(cursor)) return
    if (hasLost) this.#connection.send(resyncFrame(cursor.projectId, last, now()))
    this.#arrive(cursor, last)
  }

  #isFollowed(cursor: Cursor): boolean {
    return !this.#connection.ended && this.#cursors.get(cursor.projectId) === cursor
  }

  /** Everything up to `seq` was sent; what came since then is read next. */
  #arrive(cursor: Cursor, seq: number): void {
    cursor.seq = Math.max(cursor.seq, seq)
    if (cursor.announce) this.#connection.send(subscribedFrame(cursor.projectId, cursor.seq))
    cursor.announce = false
    if (cursor.newest > cursor.seq) return
    cursor.behind = false
    cursor.owedBytes = 0
  }
}
