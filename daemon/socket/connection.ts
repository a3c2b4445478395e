import type { Peer } from 'crossws'
import type { Caller } from '../../src/domain/caller.ts'
import type { Log } from '../log.ts'
import type { Frame } from './frame.ts'

/** Nothing is added to this many bytes that wait to be sent: who reads slowly is sent what it misses when it has read them. */
const congestedBytes = 128 * 1024
const mostPiledUpBytes = 1024 * 1024
const stalledMs = 3000
const mostMessages = 100
const messageWindowMs = 10_000
const closeTimeoutMs = 3000
const mostReasonBytes = 120
// Text frames from bytes that are encoded once for all sockets; crossws would send bytes as binary.
const asText = { binary: false, compress: false }

/** What a close code means (specification "Events", DECISIONS "Events"). */
export const closeCodes = { goingAway: 1001, failed: 1011, unauthenticated: 4001, tooMuch: 4008 } as const
type CloseCode = (typeof closeCodes)[keyof typeof closeCodes]

/** One open socket. */
export interface Connection {
  caller: Caller
  readonly renew: () => Promise<Caller>
  send(frame: Frame): void
  /** Whether so much waits to be sent that nothing should be added before `drained`. */
  isCongested(): boolean
  /** Resolves when everything was sent, or the socket has ended. */
  drained(): Promise<void>
  /** Whether the client takes nothing any more although more than 1 MiB waits for it, `owedBytes` of that still in the database. */
  isStalled(owedBytes: number): boolean
  /** Counts a message or ping of the client's, and ends the connection when there are too many. Tells whether it may be answered. */
  countMessage(): boolean
  /** Closes the socket, and drops it when the client does not take that. */
  end(code: CloseCode, reason: string): void
  readonly ended: boolean
  /** To be called when the socket has sent what waited. */
  onDrain(): void
  /** To be called when the socket is closed. */
  onClose(): void
}

export function openConnection(peer: Peer, caller: Caller, renew: () => Promise<Caller>, log: Log): Connection {
  let ended = false
  let congestedSince: number | undefined
  let waiting: Array<() => void> = []
  let messages = { since: 0, count: 0 }
  let closeTimer: NodeJS.Timeout | undefined
  const isCongested = () => peer.bufferedAmount > congestedBytes
  const release = () => {
    congestedSince = undefined
    for (const resolve of waiting.splice(0)) resolve()
  }
  const connection: Connection = {
    caller, renew, isCongested,
    get ended() { return ended },
    send: frame => {
      if (ended) return
      peer.send(frame, asText)
      if (isCongested()) congestedSince ??= performance.now()
    },
    drained: () => ended || !isCongested() ? Promise.resolve() : new Promise(resolve => waiting.push(resolve)),
    isStalled: owedBytes => congestedSince !== undefined && performance.now() - congestedSince > stalledMs && peer.bufferedAmount + owedBytes > mostPiledUpBytes,
    countMessage: () => {
      const now = performance.now()
      if (now - messages.since > messageWindowMs) messages = { since: now, count: 0 }
      if (++messages.count > mostMessages) connection.end(closeCodes.tooMuch, `At most ${mostMessages} messages in ${messageWindowMs / 1000} seconds.`)
      return !ended
    },
    end: (code, reason) => {
      if (ended) return
      ended = true
      release()
      log('info', 'A socket is closed.', { code, reason, userId: connection.caller.userId })
      closeTimer = closePeer(peer, code, reason)
    },
    onDrain: release,
    onClose: () => {
      ended = true
      release()
      clearTimeout(closeTimer)
    },
  }
  return connection
}

/** Asks a client to close, and drops the connection when it has not done so after some seconds. */
export function closePeer(peer: Peer, code: CloseCode, reason: string): NodeJS.Timeout {
  peer.close(code, new TextDecoder().decode(Buffer.from(reason).subarray(0, mostReasonBytes)))
  return setTimeout(() => peer.terminate(), closeTimeoutMs).unref()
}
