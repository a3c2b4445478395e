/** The client of a board, for programs. IDs are decimal strings, times ISO 8601 in UTC. */

/** Connects to a board: `board.cards.move({ projectId, cardId, columnId })`. Nothing is sent before the first call. */
export function connect(options: ConnectOptions): Board

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

/** A board's routes as functions, by resource, and its events. */
export interface Board extends Client {
  /**
   * A project's events as they happen, each once and in order, across interruptions of the connection, until the loop is left or
   * the signal aborts. Throws ApiFailure, Unreachable (only for the first connection), or the signal's reason.
   */
  follow(options: FollowOptions): AsyncGenerator<BoardEvent, void, undefined>
}
export interface FollowOptions {
  projectId: string
  /** The `seq` of the last known event. Without it, events start now. */
  since?: number
  signal?: AbortSignal
}

interface EventHead {
  seq: number
  projectId: string | null
  at: string
}
/** An event, or the server's message (`resync`) that it no longer has all events since the requested `seq`. */
export type BoardEvent =
  | { [Type in keyof Events]: EventHead & { type: Type; data: Events[Type] } }[keyof Events]
  | (EventHead & { type: 'resync'; data: unknown })

export interface CallOptions {
  /** The expected version of the record. Another version fails with 412. */
  ifMatch?: string
  /** A repeated key and body within a day returns the stored response, and nothing is done twice. */
  idempotencyKey?: string
  signal?: AbortSignal
  headers?: Record<string, string>
}

/** A file that comes from the server: a stream (`Readable`) in Node, whole in browsers. */
export interface Download {
  filename?: string
  contentType?: string
  size?: number
  body: AsyncIterable<Uint8Array> | Blob
}
/** A file that goes to the server: by its path in Node, itself in browsers. */
export type Upload = ({ path: string; filename?: string } | { file: Blob; filename: string }) & {
  onProgress?: (sentBytes: number, totalBytes: number) => void
}

/** The server refused: its status, its code, and the affected fields. */
export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  readonly details: ReadonlyArray<{ path: string; message: string }>
  readonly requestId: string | undefined
  readonly retryAfterSecs: number | undefined
}
/** There was no response from a board. `hint` explains how to fix it, if that is known. */
export class Unreachable extends Error {
  readonly hint: string | undefined
}
