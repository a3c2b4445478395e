import type { Peer } from 'crossws'
import type { Duplex } from 'node:stream'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { Log } from '../process/stderrLog.ts'
import type { Admitted } from './admission.ts'
import type { Frame } from './frame.ts'

/** The maximum number of unsent bytes. Beyond that, a slow client gets the remaining events from the database later. */
const congestedBytes = 128 * 1024
const maxBufferedBytes = 1024 * 1024
const stalledMs = 3000
const maxQueuedMessages = 100
const messageWindowMs = 10_000
const closeTimeoutMs = 3000
const maxReasonBytes = 120

/** The close codes of sockets (specification "Events"). */
export const closeCodes = {
  goingAway: 1001,
  failed: 1011,
  restarting: 1012,
  unauthenticated: 4001,
  tooMuch: 4008,
} as const
export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes]

/** One open socket: its caller, its backpressure, and its end. */
export class Connection {
  caller: Caller
  /** Authenticates its token again. @throws Problem UNAUTHENTICATED, TOKEN_EXPIRED */
  readonly renew: () => Promise<Caller>
  readonly #peer: Peer
  readonly #socket: Duplex
  readonly #log: Log
  #ended = false
  #rightsVersion = 0
  #congestedSince: number | undefined
  #waiting: Array<() => void> = []
  #messages = { since: 0, count: 0 }
  #closeTimer: NodeJS.Timeout | undefined

  /** @param socket the peer's TCP socket: shared frames are written directly to it, in two thirds of the time */
  constructor(peer: Peer, socket: Duplex, { caller, renew }: Admitted, log: Log) {
    this.#peer = peer
    this.#socket = socket
    this.#log = log
    this.caller = caller
    this.renew = renew
  }

  get ended(): boolean {
    return this.#ended
  }

  /**
   * Changes whenever the caller's permissions might have been reduced. Checks before the change are no longer valid: no event of a project
   * is sent until the access to the project is checked again.
   */
  get rightsVersion(): number {
    return this.#rightsVersion
  }

  doubtRights(): void {
    this.#rightsVersion++
  }

  send(frame: Frame): void {
    if (this.#ended || !this.#socket.writable) return
    this.#socket.write(frame)
    if (this.isCongested) this.#congestedSince ??= performance.now()
  }

  /** Whether the unsent bytes exceed the limit; wait for `drained` before queueing more. */
  get isCongested(): boolean {
    return this.#socket.writableLength > congestedBytes
  }

  /** Resolves when everything was sent, or the socket has ended. */
  drained(): Promise<void> {
    return this.#ended || !this.isCongested
      ? Promise.resolve()
      : new Promise(resolve => {
          this.#waiting.push(resolve)
        })
  }

  /**
   * Whether the client has stopped reading with more than 1 MiB to send, of which `owedBytes` are still in the
   * database.
   */
  isStalled(owedBytes: number): boolean {
    return (
      this.#congestedSince !== undefined &&
      performance.now() - this.#congestedSince > stalledMs &&
      this.#socket.writableLength + owedBytes > maxBufferedBytes
    )
  }

  /** Counts a client's message or ping, and closes the socket over the limit. @returns whether it can be answered */
  countMessage(): boolean {
    const now = performance.now()
    if (now - this.#messages.since > messageWindowMs) this.#messages = { since: now, count: 0 }
    if (++this.#messages.count > maxQueuedMessages)
      this.end(closeCodes.tooMuch, `At most ${maxQueuedMessages} messages in ${messageWindowMs / 1000} seconds.`)
    return !this.#ended
  }

  /** Closes the socket, and drops the connection when the client does not answer. */
  end(code: CloseCode, reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.onDrain()
    this.#log('info', 'A socket is closed.', { code, reason, userId: this.caller.userId })
    this.#closeTimer = closePeer(this.#peer, code, reason)
  }

  /** Call this when everything was sent. */
  onDrain(): void {
    this.#congestedSince = undefined
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Call this when the socket is closed. */
  onClose(): void {
    this.#ended = true
    this.onDrain()
    clearTimeout(this.#closeTimer)
  }
}

/** Starts the closing handshake, and drops the connection when the client has not closed after some seconds. */
export function closePeer(peer: Peer, code: CloseCode, reason: string): NodeJS.Timeout {
  peer.close(code, new TextDecoder().decode(Buffer.from(reason).subarray(0, maxReasonBytes)))
  return setTimeout(() => peer.terminate(), closeTimeoutMs).unref()
}
