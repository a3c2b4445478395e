import { backoffMs } from '../async/backoff.ts'
import { errors, type ErrorCode } from '../contract/errors.ts'
import type { ClientMessage, EventMessage } from '../contract/server/events.ts'
import { ApiFailure, Unreachable } from './failures.ts'
import type { Connection } from './http.ts'
import { renewPlace, type Place } from './place.ts'
import { openWebSocket } from './webSocket.ts'

/** An event, or the server's message that it no longer has all events since the requested `seq`. */
export type LiveMessage =
  | EventMessage
  | { type: 'resync'; data: unknown; seq: number; projectId: string | null; at: string }
type LiveState = { name: 'connecting' } | { name: 'open' } | { name: 'waiting'; retryInMs: number } | { name: 'closed' }

export interface LiveOptions {
  onEvent: (message: LiveMessage) => void
  onState?: (state: LiveState) => void
  /** Called when a project is followed and each of its events will arrive. Called again after each new connection. */
  onSubscribed?: (projectId: string) => void
}

type Incoming =
  | LiveMessage
  | { type: 'subscribed'; data: { projectId: string; seq: number } }
  | { type: 'error'; data: { code: string; message: string } }
  | { type: 'pong' }

/** The silence after which the server receives a ping. */
const pingAfterMs = 20_000
const pongTimeoutMs = 10_000
const firstRetryMs = 250
const maxRetryMs = 10_000
type Socket = Awaited<ReturnType<typeof openWebSocket>>

/** The close code for a token that the server does not accept. */
const tokenEnded = 4001

/**
 * The live events of a server. It reconnects automatically after an interruption and requests the missed events, so that every
 * event of a subscription arrives exactly once and in order.
 */
export class Live {
  /**
   * Settles at the end: resolves after `close()`, rejects with ApiFailure if the server refuses, with Unreachable if the first
   * connection fails.
   */
  readonly done: Promise<void>
  readonly #connection: Connection
  readonly #options: LiveOptions
  /** Project ID -> the last received `seq`, or undefined until the server has sent its current one. */
  readonly #subscriptions = new Map<string, number | undefined>()
  #socket: Socket | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failures = 0
  #wasOpen = false
  #closed = false
  #settle: { resolve: () => void; reject: (error: Error) => void }

  constructor(connection: Connection, options: LiveOptions) {
    this.#connection = connection
    this.#options = options
    const { promise, resolve, reject } = withResolvers()
    this.#settle = { resolve, reject }
    this.done = promise
    void this.#connect()
  }

  /** Requests a project's events: from now on, or all after `since`. */
  subscribe(projectId: string, since?: number): void {
    this.#subscriptions.set(projectId, since)
    this.#send({ type: 'subscribe', payload: { projectId, since } })
  }

  unsubscribe(projectId: string): void {
    this.#subscriptions.delete(projectId)
    this.#send({ type: 'unsubscribe', payload: { projectId } })
  }

  close(): void {
    this.#end()
  }

  async #connect(): Promise<void> {
    this.#options.onState?.({ name: 'connecting' })
    const { url, token, certificate } = this.#connection
    const socket = await openWebSocket(`${url.replace(/^http/, 'ws').replace(/\/$/, '')}/api/ws`, {
      url,
      token,
      certificate,
    })
    if (this.#closed) return socket.close()
    this.#socket = socket
    const current = (act: () => void) => () => {
      if (this.#socket === socket) act()
    }
    socket.addEventListener(
      'open',
      current(() => this.#onOpen()),
    )
    socket.addEventListener('message', event => {
      if (this.#socket === socket) this.#onMessage(event.data)
    })
    socket.addEventListener('error', event => {
      if (this.#socket === socket && !this.#wasOpen)
        this.#end(new Unreachable(new URL(this.#connection.url).origin, causeOf(event)))
    })
    socket.addEventListener('close', event => {
      if (this.#socket !== socket) return
      if (event.code === tokenEnded) void this.#refuseToken({ url, token, certificate })
      else this.#onBroken(event.code)
    })
    this.#abandonSilent(socket, this.#connection.timeoutMs || 30_000)
  }

  #onOpen(): void {
    this.#wasOpen = true
    this.#options.onState?.({ name: 'open' })
    for (const [projectId, since] of this.#subscriptions)
      this.#send({ type: 'subscribe', payload: { projectId, since } })
    this.#restartSilenceTimer()
  }

  #onMessage(data: unknown): void {
    const message = parse(data)
    this.#restartSilenceTimer()
    if (!message || message.type === 'pong') return
    if (message.type === 'subscribed') return this.#onSubscribed(message.data)
    if (message.type === 'error') return this.#onRefused(message.data)
    if (message.projectId !== null) {
      const last = this.#subscriptions.get(message.projectId)
      if (message.type !== 'resync' && last !== undefined && message.seq <= last) return
      if (this.#subscriptions.has(message.projectId)) this.#subscriptions.set(message.projectId, message.seq)
    }
    this.#options.onEvent(message)
  }

  #onSubscribed({ projectId, seq }: { projectId: string; seq: number }): void {
    this.#failures = 0
    if (!this.#subscriptions.has(projectId)) return
    this.#subscriptions.set(projectId, Math.max(seq, this.#subscriptions.get(projectId) ?? 0))
    this.#options.onSubscribed?.(projectId)
  }

  #onRefused(error: { code: string; message: string }): void {
    const status = Object.hasOwn(errors, error.code) ? errors[error.code as ErrorCode][0] : 400
    if (status === 429 || status === 503) return this.#socket?.close()
    this.#end(new ApiFailure(status, { error }, {}))
  }

  #onBroken(code: number): void {
    clearTimeout(this.#timer)
    if (!this.#wasOpen)
      return this.#end(
        new Unreachable(new URL(this.#connection.url).origin, new Error(`the connection was closed with code ${code}`)),
      )
    this.#socket = undefined
    const retryInMs = backoffMs(++this.#failures, { firstMs: firstRetryMs, maxMs: maxRetryMs, jitter: 0.5 })
    this.#options.onState?.({ name: 'waiting', retryInMs })
    this.#timer = setTimeout(() => {
      void this.#reconnect()
    }, retryInMs)
  }

  /** A restarted server might have a new address. */
  async #reconnect(): Promise<void> {
    await renewPlace(this.#connection)
    if (!this.#closed) await this.#connect()
  }

  /** Continues with the token that the server accepts now, if there is one. */
  async #refuseToken(used: Place): Promise<void> {
    clearTimeout(this.#timer)
    this.#socket = undefined
    if (await renewPlace(this.#connection, used, true)) {
      if (!this.#closed) await this.#connect()
    } else
      this.#end(new ApiFailure(401, { error: { code: 'UNAUTHENTICATED', message: errors.UNAUTHENTICATED[1] } }, {}))
  }

  /** Restarts the silence timer. When the timer expires, sends a ping. Without a pong, opens a new connection. */
  #restartSilenceTimer(): void {
    const socket = this.#socket
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#send({ type: 'ping' })
      if (socket) this.#abandonSilent(socket, pongTimeoutMs)
    }, pingAfterMs)
  }

  /** Abandons a silent socket. A dead peer never closes, so this does not wait for its close. */
  #abandonSilent(socket: Socket, withinMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#socket !== socket) return
      this.#onBroken(1006)
      socket.close()
    }, withinMs)
  }

  #send(message: ClientMessage): void {
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(message))
  }

  #end(error?: Error): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    this.#socket?.close()
    this.#socket = undefined
    this.#options.onState?.({ name: 'closed' })
    if (error) this.#settle.reject(error)
    else this.#settle.resolve()
  }
}

/** Only Node's events contain the reason. */
const causeOf = (event: object): unknown => ('error' in event && event.error) || new Error('no WebSocket')

function parse(data: unknown): Incoming | undefined {
  try {
    return JSON.parse(String(data)) as Incoming
  } catch {
    return undefined
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } {
  let settleOnce: { resolve: () => void; reject: (error: Error) => void } | undefined
  const promise = new Promise<void>((resolve, reject) => {
    settleOnce = { resolve, reject }
  })
  return { promise, ...settleOnce! }
}
