import type { ErrorCode } from './errors.ts'
import type { Route } from './route.ts'

/**
 * The error codes of a route: the codes that follow from its row (callers, path and body), and the codes that the row names in
 * `fails`.
 */
export function failuresOf(route: Route): ErrorCode[] {
  const { method, who, body, at } = route
  return [
    // The guard precedes every route, and the database is behind nearly every one.
    'BAD_REQUEST',
    'VALIDATION_FAILED',
    'HOST_NOT_ALLOWED',
    'ORIGIN_NOT_ALLOWED',
    'INTERNAL',
    'DATABASE_BUSY',
    'SHUTTING_DOWN',
    // The requests of an agent's session are limited on every route, including routes that are closed to agents.
    ...(who.kind === 'public' ? [] : (['UNAUTHENTICATED', 'TOKEN_EXPIRED', 'FORBIDDEN', 'RATE_LIMITED'] as const)),
    ...(who.kind === 'agent' ? (['AGENT_TOKEN_REQUIRED'] as const) : []),
    ...(['public', 'agent', 'token'].includes(who.kind) ? [] : (['INSUFFICIENT_PERMISSIONS'] as const)),
    ...Object.values(route.notFound ?? {}),
    ...(route.integerIds ? (['INVALID_ID'] as const) : []),
    ...(route.rateLimit ? (['RATE_LIMITED'] as const) : []),
    ...(route.ifMatch ? (['VERSION_CONFLICT'] as const) : []),
    // Two changes at once, or one that the current state does not allow.
    ...(method !== 'GET' ? (['CONFLICT', 'DISK_FULL', 'DATABASE_DAMAGED'] as const) : []),
    ...(body === 'none' ? [] : bodyFailures),
    ...(route.idempotent ? (['IDEMPOTENCY_KEY_REUSED'] as const) : []),
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
