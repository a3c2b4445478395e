import type { ErrorCode } from './errors.ts'
import { isExternal, paramsOf, type Route } from './route.ts'

/**
 * What a route can answer instead of a success: what follows from its row (who may call, what stands in its path and body), and
 * what the row names in `fails`.
 */
export function failuresOf(route: Route): ErrorCode[] {
  const { method, path, who, transfer, at, status } = route
  const writes = method !== 'GET'
  const sendsBody = writes && method !== 'DELETE'
  return [
    // The guard stands before every route, and the database behind nearly every one.
    'BAD_REQUEST',
    'HOST_NOT_ALLOWED',
    'ORIGIN_NOT_ALLOWED',
    'INTERNAL',
    'DATABASE_BUSY',
    'SHUTTING_DOWN',
    ...(who.kind === 'public' ? [] : (['UNAUTHENTICATED', 'TOKEN_EXPIRED', 'FORBIDDEN'] as const)),
    ...(who.kind === 'member' || who.kind === 'organization' || namesRecords(route) ? (['NOT_FOUND'] as const) : []),
    ...(isExternal(path) ? (['INVALID_ID', 'RATE_LIMITED'] as const) : []),
    // Two changes at once, or one that the present state does not allow.
    ...(writes ? (['CONFLICT'] as const) : []),
    ...(sendsBody ? bodyFailures : []),
    ...(status === 201 && route.idempotent !== false ? (['IDEMPOTENCY_KEY_REUSED'] as const) : []),
    ...(transfer === 'upload' ? (['DISK_FULL'] as const) : []),
    ...(at ? (['MACHINE_UNAVAILABLE'] as const) : []),
    ...(route.fails ?? []),
  ]
}

const bodyFailures = [
  'INVALID_JSON',
  'REQUEST_TIMEOUT',
  'BODY_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
] as const

/** Whether the path, the query or the body names something by its id, which may not be there. */
const namesRecords = ({ path, input }: Route): boolean =>
  paramsOf(path).length > 0 ||
  (input !== undefined &&
    'entries' in input &&
    Object.keys(input.entries as object).some(name => /^ids$|Ids?$/.test(name)))
