import { audienceOf, type Audience } from '../../src/domain/hearing.ts'
import type { Outbox, StoredEvent } from '../../src/events/outbox.ts'
import type { Log } from '../process/stderrLog.ts'
import { closeCodes, type Connection } from './connection.ts'
import type { FanOut, Follower, FrameFor } from './fanOut.ts'
import { resyncFrame, subscribedFrame } from './frame.ts'
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
  audience: Audience
  /** The connection's version of its caller's rights when they were last looked up here. With another one nothing is sent. */
  rightsVersion: number
  /** Every event of the project up to here was sent, or may not be heard. */
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

/** The projects that one socket follows. It gets each of their events that it may hear, in order, none twice and none left out. */
export class Feed {
  readonly #connection: Connection
  readonly #source: Source
  readonly #cursors = new Map<number, Cursor>()
  #catchingUp = false

  constructor(connection: Connection, source: Source) {
    this.#connection = connection
    this.#source = source
  }

  /**
   * Sends every event of the project after the seq `since`, or after now, then tells that it is followed.
   * @param rightsVersion the connection's before its caller's right to hear the project was looked up
   */
  async subscribe(projectId: number, rightsVersion: number, since?: number): Promise<void> {
    const present = this.#cursors.get(projectId)
    if (present && since === undefined)
      return this.#fallBehind(Object.assign(present, { announce: true, rightsVersion }))
    this.unsubscribe(projectId)
    const { outbox, fanOut, now } = this.#source
    const last = await outbox.lastSeq()
    if (this.#connection.ended) return
    if (since !== undefined && since > last) this.#connection.send(resyncFrame(projectId, last, now()))
    const cursor: Cursor = {
      projectId,
      audience: audienceOf(this.#connection.caller.key?.permissions),
      rightsVersion,
      seq: Math.min(since ?? last, last),
      behind: true,
      newest: 0,
      owedBytes: 0,
      pageSize: firstPageSize,
      announce: true,
      offer: (event, frameFor) => this.#take(cursor, event, frameFor),
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

  /** Goes on with a project: the caller may hear it as of this version of its rights. */
  confirm(projectId: number, rightsVersion: number): void {
    const cursor = this.#cursors.get(projectId)
    if (!cursor || cursor.rightsVersion >= rightsVersion) return
    cursor.rightsVersion = rightsVersion
    if (cursor.behind) this.#fallBehind(cursor)
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

  #take(cursor: Cursor, event: StoredEvent, frameFor: FrameFor): void {
    if (cursor.behind || this.#connection.isCongested || !this.#isConfirmed(cursor)) {
      cursor.newest = event.seq
      cursor.owedBytes += event.data.length
      return this.#fallBehind(cursor)
    }
    if (event.seq <= cursor.seq) return
    const frame = frameFor(cursor.audience)
    if (frame) this.#connection.send(frame)
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
    return this.#connection.ended
      ? []
      : [...this.#cursors.values()].filter(cursor => cursor.behind && this.#isConfirmed(cursor))
  }

  /** Sends a page, each part in its turn: who misses much does not keep others waiting for their first event. */
  async #advance(cursor: Cursor): Promise<void> {
    const { pages, now } = this.#source
    const { parts, seq: readUpTo, isFull, hasLost, last } = await pages.read(cursor, cursor.pageSize)
    cursor.pageSize = pageSize
    for (const [index, { frames, seq }] of parts.entries()) {
      await this.#connection.drained()
      if (!this.#isFollowed(cursor) || !this.#isConfirmed(cursor)) return
      this.#connection.send(frames)
      cursor.seq = seq
      if (isFull || index < parts.length - 1) await this.#source.turn()
    }
    if (!this.#isFollowed(cursor) || !this.#isConfirmed(cursor)) return
    cursor.seq = Math.max(cursor.seq, readUpTo)
    if (isFull) return
    if (hasLost) this.#connection.send(resyncFrame(cursor.projectId, last, now()))
    this.#arrive(cursor, last)
  }

  #isFollowed(cursor: Cursor): boolean {
    return !this.#connection.ended && this.#cursors.get(cursor.projectId) === cursor
  }

  #isConfirmed(cursor: Cursor): boolean {
    return cursor.rightsVersion === this.#connection.rightsVersion
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
