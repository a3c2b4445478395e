import type { Peer } from 'crossws'
import type { Duplex } from 'node:stream'
import type { Caller } from '../../src/domain/caller.ts'
import type { Log } from '../process/stderrLog.ts'
import type { Admitted } from './admission.ts'
import type { Frame } from './frame.ts'

/** Nothing is added to this many bytes that wait to be sent: who reads slowly is sent what it misses when it has read them. */
const congestedBytes = 128 * 1024
const maxBufferedBytes = 1024 * 1024
const stalledMs = 3000
const maxQueuedMessages = 100
const messageWindowMs = 10_000
const closeTimeoutMs = 3000
const maxReasonBytes = 120

/** What the server closes sockets with (specification "Events"). */
export const closeCodes = {
  goingAway: 1001,
  failed: 1011,
  restarting: 1012,
  unauthenticated: 4001,
  tooMuch: 4008,
} as const
export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes]

/** One open socket: what is sent through it, how fast its client takes that, and its end. */
export class Connection {
  caller: Caller
  /** Tells anew whose token it is. @throws Problem UNAUTHENTICATED, TOKEN_EXPIRED once it has ended */
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

  /** @param socket what the peer's frames go over: those that are made once for all are written to it as they are, which takes two thirds of the time */
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
   * Changes whenever the rights of the caller may have become less. What was looked up before it changed does not count any
   * more: nothing is sent of a project until somebody has looked again.
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

  /** Whether so much waits to be sent that nothing should be added before `drained`. */
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

  /** Whether the client takes nothing any more although more than 1 MiB waits for it, `owedBytes` of that still in the database. */
  isStalled(owedBytes: number): boolean {
    return (
      this.#congestedSince !== undefined &&
      performance.now() - this.#congestedSince > stalledMs &&
      this.#socket.writableLength + owedBytes > maxBufferedBytes
    )
  }

  /** Counts a message or ping of the client's, and closes the socket when there are too many. Tells whether it may be answered. */
  countMessage(): boolean {
    const now = performance.now()
    if (now - this.#messages.since > messageWindowMs) this.#messages = { since: now, count: 0 }
    if (++this.#messages.count > maxQueuedMessages)
      this.end(closeCodes.tooMuch, `At most ${maxQueuedMessages} messages in ${messageWindowMs / 1000} seconds.`)
    return !this.#ended
  }

  /** Closes the socket, and drops it when the client does not take that. */
  end(code: CloseCode, reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.onDrain()
    this.#log('info', 'A socket is closed.', { code, reason, userId: this.caller.userId })
    this.#closeTimer = closePeer(this.#peer, code, reason)
  }

  /** To be called when everything was sent. */
  onDrain(): void {
    this.#congestedSince = undefined
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** To be called when the socket is closed. */
  onClose(): void {
    this.#ended = true
    this.onDrain()
    clearTimeout(this.#closeTimer)
  }
}

/** Asks a client to close, and drops the connection when it has not done so after some seconds. */
export function closePeer(peer: Peer, code: CloseCode, reason: string): NodeJS.Timeout {
  peer.close(code, new TextDecoder().decode(Buffer.from(reason).subarray(0, maxReasonBytes)))
  return setTimeout(() => peer.terminate(), closeTimeoutMs).unref()
}
