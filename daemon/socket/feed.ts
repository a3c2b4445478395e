import { audienceOf, type Audience } from '../../src/domain/accounts/eventAudience.ts'
import type { Outbox, StoredEvent } from '../../src/events/outbox.ts'
import type { Log } from '../process/stderrLog.ts'
import { closeCodes, type Connection } from './connection.ts'
import type { FanOut, Follower, FrameFor } from './fanOut.ts'
import { resyncFrame, subscribedFrame } from './frame.ts'
import { firstPageSize, pageSize, type ReplayPages } from './replayPages.ts'

/** A feed's dependencies. It awaits `turn` between the parts of a long replay. */
export interface FeedDependencies {
  outbox: Outbox
  pages: ReplayPages
  fanOut: FanOut
  turn: () => Promise<void>
  now: () => string
  log: Log
}

/** The progress of one socket in one project. */
interface Cursor extends Follower {
  audience: Audience
  /** The connection's `rightsVersion` at the last access check. While the connection has another one, nothing is sent. */
  rightsVersion: number
  /** Every event up to this seq was sent, or is not visible to this audience. */
  seq: number
  /** Whether missed events are being replayed; new events then wait in the database. */
  behind: boolean
  /** The newest event's seq during a replay, and the bytes of all such events. */
  newest: number
  owedBytes: number
  /** The size of the next page. */
  pageSize: number
  /** Whether `subscribed` is still to be sent. */
  announce: boolean
}

/**
 * The projects that one socket follows. The socket receives every event that its audience can see, in order and
 * exactly once.
 */
export class Feed {
  readonly #connection: Connection
  readonly #dependencies: FeedDependencies
  readonly #cursors = new Map<number, Cursor>()
  #catchingUp = false

  constructor(connection: Connection, dependencies: FeedDependencies) {
    this.#connection = connection
    this.#dependencies = dependencies
  }

  /**
   * Follows a project: sends its events after the seq `since`, or from now on, and then `subscribed`.
   * @param rightsVersion the connection's before the access check
   */
  async subscribe(projectId: number, rightsVersion: number, since?: number): Promise<void> {
    const present = this.#cursors.get(projectId)
    if (present && since === undefined)
      return this.#fallBehind(Object.assign(present, { announce: true, rightsVersion }))
    this.unsubscribe(projectId)
    const { outbox, fanOut, now } = this.#dependencies
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
      offer: (event, frameFor) => this.#receive(cursor, event, frameFor),
    }
    this.#cursors.set(projectId, cursor)
    fanOut.join(cursor, last)
    this.#fallBehind(cursor)
  }

  unsubscribe(projectId: number): void {
    const cursor = this.#cursors.get(projectId)
    if (!cursor) return
    this.#dependencies.fanOut.leave(cursor)
    this.#cursors.delete(projectId)
  }

  /** Resumes a project: access was granted at this version of the permissions. */
  confirm(projectId: number, rightsVersion: number): void {
    const cursor = this.#cursors.get(projectId)
    if (!cursor || cursor.rightsVersion >= rightsVersion) return
    cursor.rightsVersion = rightsVersion
    if (cursor.behind) this.#fallBehind(cursor)
  }

  get projects(): number[] {
    return [...this.#cursors.keys()]
  }

  /** The bytes of new events that wait in the database because the client reads slowly. */
  get owedBytes(): number {
    let total = 0
    for (const cursor of this.#cursors.values()) total += cursor.owedBytes
    return total
  }

  /** The highest seq up to which a followed project's events were sent. Undefined if the socket follows none. */
  newestSeq(): number | undefined {
    return this.#cursors.size === 0 ? undefined : Math.max(...[...this.#cursors.values()].map(({ seq }) => seq))
  }

  close(): void {
    for (const projectId of this.projects) this.unsubscribe(projectId)
  }

  #receive(cursor: Cursor, event: StoredEvent, frameFor: FrameFor): void {
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

  /** Replays missed events page by page, and waits while the socket is congested. */
  async #catchUp(): Promise<void> {
    this.#catchingUp = true
    try {
      for (let behind = this.#behind(); behind.length > 0; behind = this.#behind())
        for (const cursor of behind) await this.#advance(cursor)
    } catch (error) {
      this.#dependencies.log('error', 'Events could not be read for a socket.', { cause: String(error) })
      this.#connection.end(closeCodes.failed, 'The server could not read its events.')
    }
    this.#catchingUp = false
  }

  #behind(): Cursor[] {
    return this.#connection.ended
      ? []
      : [...this.#cursors.values()].filter(cursor => cursor.behind && this.#isConfirmed(cursor))
  }

  /** Sends a page. Its parts take turns with other sockets, so that a long replay does not delay others. */
  async #advance(cursor: Cursor): Promise<void> {
    const { pages, now } = this.#dependencies
    const { parts, seq: readUpTo, isFull, hasLost, last } = await pages.read(cursor, cursor.pageSize)
    cursor.pageSize = pageSize
    for (const [index, { frames, seq }] of parts.entries()) {
      await this.#connection.drained()
      if (!this.#isFollowed(cursor) || !this.#isConfirmed(cursor)) return
      this.#connection.send(frames)
      cursor.seq = seq
      if (isFull || index < parts.length - 1) await this.#dependencies.turn()
    }
    if (!this.#isFollowed(cursor) || !this.#isConfirmed(cursor)) return
    cursor.seq = Math.max(cursor.seq, readUpTo)
    if (isFull) return
    if (hasLost) this.#connection.send(resyncFrame(cursor.projectId, last, now()))
    this.#finishPage(cursor, last)
  }

  #isFollowed(cursor: Cursor): boolean {
    return !this.#connection.ended && this.#cursors.get(cursor.projectId) === cursor
  }

  #isConfirmed(cursor: Cursor): boolean {
    return cursor.rightsVersion === this.#connection.rightsVersion
  }

  /** Moves the cursor to `seq`. Events that arrived during the replay are read next. */
  #finishPage(cursor: Cursor, seq: number): void {
    cursor.seq = Math.max(cursor.seq, seq)
    if (cursor.announce) this.#connection.send(subscribedFrame(cursor.projectId, cursor.seq))
    cursor.announce = false
    if (cursor.newest > cursor.seq) return
    cursor.behind = false
    cursor.owedBytes = 0
  }
}
