import type { Peer } from 'crossws'
import type { Duplex } from 'node:stream'
import { logFailure } from '../../src/config/log.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { Reader } from '../../src/store/engine/database.ts'
import type { Log } from '../process/stderrLog.ts'
import type { Admission } from './admission.ts'
import { closeCodes, closePeer, Connection } from './connection.ts'
import { Feed, type FeedDependencies } from './feed.ts'
import { handleMessage } from './messages.ts'
import { createInboxConsumer } from './inboxUpdates.ts'
import { createNotificationConsumer } from './notifications.ts'

const goodbyes = {
  [closeCodes.goingAway]: 'The server is shutting down.',
  [closeCodes.restarting]: 'The server is restoring a backup.',
}
/** The close codes for all sockets at once. */
export type ShutdownCode = keyof typeof goodbyes

/** One client: its socket, its feed, and the queue of its messages. */
export interface SocketSession {
  connection: Connection
  feed: Feed
  done: Promise<void>
  endPersonalEvents(): void
}

/** The clients of one server. */
export class SocketSessions implements Iterable<SocketSession> {
  readonly #byPeer = new Map<Peer, SocketSession>()
  readonly #db: Reader
  readonly #dependencies: FeedDependencies
  readonly #log: Log
  #goodbye: ShutdownCode | undefined

  constructor(db: Reader, dependencies: FeedDependencies) {
    this.#db = db
    this.#dependencies = dependencies
    this.#log = dependencies.log
  }

  get size(): number {
    return this.#byPeer.size
  }

  [Symbol.iterator](): MapIterator<SocketSession> {
    return this.#byPeer.values()
  }

  open(peer: Peer, socket: Duplex, admission: Admission): void {
    if (this.#goodbye) return void closePeer(peer, this.#goodbye, goodbyes[this.#goodbye])
    if ('refusal' in admission) return void closePeer(peer, closeCodes.unauthenticated, admission.refusal)
    const connection = new Connection(peer, socket, admission, this.#log)
    const feed = new Feed(connection, this.#dependencies)
    const ends = [createNotificationConsumer, createInboxConsumer].map(create =>
      this.#dependencies.fanOut.attach(create(this.#db, connection, feed, this.#log)),
    )
    this.#byPeer.set(peer, {
      connection,
      feed,
      done: Promise.resolve(),
      endPersonalEvents: () => {
        for (const end of ends) end()
      },
    })
  }

  /** Handles a client's messages one after the other. */
  receive(peer: Peer, raw: unknown): void {
    const session = this.#byPeer.get(peer)
    if (!session?.connection.countMessage()) return
    session.done = session.done
      .then(() => handleMessage(this.#db, session, raw))
      .catch((error: unknown) => this.fail(peer, error))
  }

  ping(peer: Peer): void {
    this.#byPeer.get(peer)?.connection.countMessage()
  }

  drain(peer: Peer): void {
    this.#byPeer.get(peer)?.connection.onDrain()
  }

  close(peer: Peer): void {
    const session = this.#byPeer.get(peer)
    if (!session) return
    session.connection.onClose()
    session.feed.close()
    session.endPersonalEvents()
    this.#byPeer.delete(peer)
  }

  /** Closes a socket after a failure of the server. */
  fail(peer: Peer, error: unknown): void {
    logFailure(this.#log, 'A socket failed.', error)
    this.drop(peer)
  }

  /** Drops a failed socket: a close frame can still be in transit, but no more messages are read. */
  drop(peer: Peer): void {
    this.#byPeer.get(peer)?.connection.end(closeCodes.failed, 'Internal server error.')
  }

  /** Closes the sockets of callers whose token was revoked. */
  endMatching(hasEnded: (caller: Caller) => boolean): void {
    for (const { connection } of this)
      if (hasEnded(connection.caller)) connection.end(closeCodes.unauthenticated, 'The token has expired.')
  }

  /** Pauses the sockets of an account (null: all) until its permissions are read again. */
  recheckRights(userId: number | null): void {
    for (const { connection } of this)
      if (userId === null || connection.caller.userId === userId) connection.doubtRights()
  }

  /** Closes all sockets, and rejects later ones. */
  endAll(goodbye: ShutdownCode): void {
    this.#goodbye = goodbye
    for (const { connection } of this) connection.end(goodbye, goodbyes[goodbye])
  }
}
