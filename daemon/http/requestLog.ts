import { causeOf, failureLevel, reasonOf, type Log } from '../../src/config/log.ts'
import type { Problem } from '../../src/contract/errors.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { Logs } from '../../src/logs/logs.ts'

/**
 * An answered request. `route` is the path of its row, because the raw path can contain anything. It is null if no row matches.
 */
export interface Answered {
  method: string
  route: string | null
  status: number
  tookMs: number
  requestId: string
  caller?: Caller
  address?: string
  problem?: Problem
  isSignIn: boolean
}

const slowMs = 1000
/**
 * The maximum number of logged failures of anonymous clients per time window, so that they cannot push other entries out of the
 * log.
 */
const [maxAnonymousFailures, anonymousWindowMs] = [100, 10_000]

/**
 * Creates the function that logs requests: changes, failures and slow requests, and with the level info every request. Logging each read of
 * a card would add a sixth to the cost of the read. Logging a change adds a twentieth. For failures, the address is also logged.
 */
export function createRequestLog(
  { log, soon, routine }: Pick<Logs, 'log' | 'soon' | 'routine'>,
  notesReads: boolean,
): (answered: Answered) => void {
  const isNoted = anonymousFailureLimit(log)
  return ({ method, route, status, tookMs, requestId, caller, address, problem, isSignIn }) => {
    const isRoutine = !problem && tookMs < slowMs && (method === 'GET' || method === 'HEAD')
    if (isRoutine && !notesReads) return
    const fields = {
      source: 'http',
      requestId,
      method,
      route,
      status,
      ms: Math.round(tookMs * 100) / 100,
      caller: caller && nameOf(caller),
    }
    if (!problem) return (isRoutine ? routine : soon)('info', `${method} ${route} ${status}`, fields)
    if (!caller && status < 500 && !isNoted()) return
    const more = { ...fields, code: problem.code, address }
    const message = `${method} ${route ?? '(no route)'} ${status} ${problem.code}`
    if (status >= 500)
      log(failureLevel(problem), message, {
        ...more,
        why: problem.message,
        ...(problem.cause !== undefined && {
          cause: failureLevel(problem) === 'warn' ? reasonOf(problem.cause) : causeOf(problem.cause),
        }),
      })
    else if (isSignIn && (status === 401 || status === 403 || status === 429)) log('warn', 'A sign-in failed.', more)
    else soon('info', message, more)
  }
}

/**
 * Returns a function that checks whether another failure can be logged, and logs the number of omitted ones after the
 * window.
 */
function anonymousFailureLimit(log: Log): () => boolean {
  let [endsAtMs, left, unnoted] = [0, 0, 0]
  return () => {
    const nowMs = performance.now()
    if (nowMs > endsAtMs) {
      if (unnoted > 0)
        log('warn', `${unnoted} more requests of anonymous clients failed.`, {
          source: 'http',
          count: unnoted,
        })
      ;[endsAtMs, left, unnoted] = [nowMs + anonymousWindowMs, maxAnonymousFailures, 0]
    }
    if (left-- > 0) return true
    unnoted++
    return false
  }
}

const nameOf = ({ kind, userId, key, agent }: Caller) =>
  kind === 'key' ? `key ${key!.id}` : kind === 'agent' ? `agent ${agent!.cardId}` : `${kind} ${userId}`
