import type { App } from '../../src/app.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import type { Route } from '../../src/contract/route.ts'
import { explainMissing } from '../../src/domain/accounts/foreignKeyErrors.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import { ForeignKeyViolation } from '../../src/store/engine/database.ts'
import { forwardRequest } from '../peers/forward.ts'
import type { PeerDependencies } from '../peers/peers.ts'
import type { AuditTrail, Described } from './auditTrail.ts'
import { authorize } from './authorize.ts'
import type { AnyHandler } from './handlers.ts'
import type { Claim } from './idempotency.ts'
import { paramReader } from './pathParams.ts'
import type { RequestCall } from './requestCall.ts'

/** The services that each call of a route uses. */
export type EndpointDependencies = PeerDependencies & Pick<App, 'reads'>

type Fields = Record<string, unknown>

/** A route of the contract, with its handler. */
export interface Endpoint {
  route: Route
  handler: AnyHandler
  audited: Described | undefined
  readParams: ReturnType<typeof paramReader>
  /** The path parameter with the project that determines the caller's role, if any. */
  projectParam: string
  /** Whether the path names the project whose access rules apply. Otherwise, the body names it, and is read first. */
  isProjectInPath: boolean
}

export function endpointOf(route: Route, handler: AnyHandler, audited: Described | undefined): Endpoint {
  const { who, path } = route
  const params = paramsOf(path)
  const name = who.kind === 'member' ? who.through : 'projectId'
  return {
    route,
    handler,
    audited,
    readParams: paramReader(route),
    projectParam: params.includes(name) && (name === 'projectId' || name === 'id') ? name : '',
    isProjectInPath: who.kind !== 'member' || params.includes(name === 'flatCard' ? 'id' : name),
  }
}

/** The input of a call. */
export interface EndpointCall {
  /** The path's parameters. */
  params: Fields
  /** Whether the row is open to the caller without a token. */
  isOpen: boolean
  /** Reads and validates the input, including parameters, after the caller is authorized. */
  read(): Promise<{ input: Fields; claim?: Claim }>
  /** The call's entry in the audit log. */
  audit: AuditTrail | undefined
  /** The message of the call, if it has been read. Another machine receives it in place of the input. */
  message?: unknown
}
/** The result of a call: the handler's answer, the stored answer for the Idempotency-Key, or another machine's answer. */
export interface Outcome {
  passed?: Response
  claim?: Claim
  result?: unknown
}

/**
 * Calls a route's handler: authorize, forward, read, audit, call. Requests and tools use the same path.
 */
export async function callEndpoint(
  app: EndpointDependencies,
  { route, handler, isProjectInPath }: Endpoint,
  call: RequestCall,
  { params, isOpen, read, audit, message }: EndpointCall,
): Promise<Outcome> {
  const authorizeAndForward = async (named: Fields, body?: unknown) => {
    if (!isOpen) call.role = await authorize(app.reads, route, call.caller, named)
    return forwardRequest(app, route, call, named, { body, message })
  }
  const early = isProjectInPath && (await authorizeAndForward(params))
  if (early) return { passed: early }
  const { input, claim } = await read()
  const late = !isProjectInPath && (await authorizeAndForward(input, input))
  if (late) return { passed: late }

  if (claim) call.write = claim.write
  audit?.setInput(input)
  if (audit) call.takeAudit(audit)
  if (claim?.replay) return { claim }
  const result = await handler(input as never, call)
  await audit?.finish(result)
  return { claim, result }
}

/** Explains a write that failed because a row was deleted concurrently, as if the row had been deleted before. */
export const explainFailedWrite = async (
  { db }: Pick<App, 'db'>,
  { caller, route, input }: { caller?: Caller; route?: Route; input: Fields },
  error: unknown,
): Promise<unknown> =>
  error instanceof ForeignKeyViolation && route
    ? explainMissing(db, caller, route, input, error).catch((failure: unknown) => failure)
    : error
