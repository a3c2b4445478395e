import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Peer } from '../../src/identity/peer.ts'
import type { Output, ProjectRole, Received, Route } from '../../src/contract/route.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { Database, Transaction } from '../../src/store/engine/database.ts'
import type { AuditTrail } from './auditTrail.ts'

/** The properties of a request that a handler receives in addition to its input. */
export interface Call {
  /** The caller. On a public route, the caller is `nobody`. */
  caller: Caller
  /** The caller's role in the project or organization that the route is about. */
  role: ProjectRole
  peer: Peer
  /** The address of the client, even if another daemon forwarded the request. */
  address: string
  /** The `If-Match` header. Undefined if the route does not support it. */
  ifMatch: string | undefined
  /** The `Idempotency-Key` header. Undefined if the route does not support it. */
  idempotencyKey: string | undefined
  request: IncomingMessage
  /** The verbatim body. Undefined unless the route requires it. */
  bytes: Buffer | undefined
  response: ServerResponse
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  /** The call's entry in the audit log. Undefined if the route is not audited. */
  audit: AuditTrail | undefined
  /** The database for a change without `write`. It also writes the call's entry in the audit log. */
  db: Database
  /**
   * Runs a write and presents its result; without `present`, the answer has no body. An `Idempotency-Key` is recorded with the answer in
   * the same transaction, so that the same request never happens twice.
   */
  write<T, O = undefined>(work: (tx: Transaction) => Promise<T>, present?: (result: T) => O): Promise<O>
}

/** The default of `present`, for a response without a body. */
export const presentNothing = (() => undefined) as () => never

/** A handler's answer as JSON text from the database, with its version. */
export class Json {
  readonly text: string
  readonly version: number | undefined
  constructor(text: string, version?: number) {
    this.text = text
    this.version = version
  }
}

/** A handler for each route of a resource. A missing handler is a type error in the resource's file. */
export type Handlers<Rows> = {
  [Name in keyof Rows]: Rows[Name] extends Route
    ? (input: Received<Rows[Name]>, call: Call) => Promise<Output<Rows[Name]> | Json>
    : never
}
export type AnyHandler = (input: never, call: Call) => Promise<unknown>
