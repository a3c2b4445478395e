import { createClient, type Client } from './index.ts'
import { Live, type LiveMessage } from './socket.ts'

export { ApiFailure, Unreachable } from './failures.ts'

/** The location of a board and its caller: with a key of `board keys create`, or the token of a sign-in. */
export interface ConnectOptions {
  /** The origin, or the origin and a path below which a proxy serves the board. */
  url: string
  token?: string
  /** The maximum duration of a response. Default: 30 s. 0: unlimited. */
  timeoutMs?: number
  /** The only certificate (PEM) that is accepted from the server. Not in browsers. */
  certificate?: string
}
export interface FollowOptions {
  projectId: string
  /** The `seq` of the last known event. Without it, events start now. */
  since?: number
  signal?: AbortSignal
}
/** A board's routes as functions, by resource, and its events. */
export interface Board extends Client {
  /**
   * A project's events as they happen, each once and in order, across interruptions of the connection, until the loop is left or
   * the signal aborts. Throws ApiFailure, Unreachable (only for the first connection), or the signal's reason.
   */
  follow(options: FollowOptions): AsyncGenerator<LiveMessage, void, undefined>
}

/** Connects to a board: `board.cards.move({ projectId, cardId, columnId })`. Nothing is sent before the first call. */
export const connect = ({ url, token, timeoutMs, certificate }: ConnectOptions): Board => {
  const connection = { url, token, timeoutMs, certificate }
  return Object.assign(createClient(connection), {
    follow: (options: FollowOptions) => follow(connection, options),
  })
}

async function* follow(
  connection: ConnectOptions,
  { projectId, since, signal }: FollowOptions,
): AsyncGenerator<LiveMessage, void, undefined> {
  signal?.throwIfAborted()
  const waiting: LiveMessage[] = []
  let wake = () => {}
  const live = new Live(connection, {
    onEvent: message => {
      waiting.push(message)
      wake()
    },
  })
  let end: { error?: unknown } | undefined
  const finish = (error?: unknown) => {
    end ??= { error }
    wake()
  }
  live.done.then(() => finish(), finish)
  const abort = () => finish(signal!.reason)
  signal?.addEventListener('abort', abort)
  try {
    live.subscribe(projectId, since)
    while (!end || waiting.length > 0) {
      if (waiting.length === 0) await new Promise<void>(resolve => (wake = resolve))
      if (end && signal?.aborted) break
      while (waiting.length > 0) yield waiting.shift()!
    }
    if (end?.error !== undefined) throw end.error
  } finally {
    signal?.removeEventListener('abort', abort)
    live.close()
  }
}
