import { Problem } from '../../src/contract/errors.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import type { Reader } from '../../src/store/engine/database.ts'
import type { Log } from '../process/stderrLog.ts'
import { closeCodes } from './connection.ts'
import { errorFrame } from './frame.ts'
import { requireReadAccess } from './messages.ts'
import type { SocketSession, SocketSessions } from './sessions.ts'

const roundMs = 500

/** Checks twice a second whether open sockets can stay open and follow their projects. */
export interface Watch {
  /** Also checks now. */
  check(): void
  stop(): void
}

export function startWatch(db: Reader, sessions: SocketSessions, log: Log): Watch {
  let checking = false
  let again = false
  const check = async () => {
    again = checking
    if (checking || sessions.size === 0) return
    checking = true
    do {
      again = false
      const round = createRound(db, sessions)
      for (const session of sessions)
        await round(session).catch((error: unknown) =>
          log('warn', 'A socket could not be checked.', { cause: String(error) }),
        )
    } while (again)
    checking = false
  }
  const timer = setInterval(() => void check(), roundMs).unref()
  return { check: () => void check(), stop: () => clearInterval(timer) }
}

/**
 * Checks all sockets once. Each token, and each account's access to a project, is looked up once per round. A later change
 * takes effect in the next round.
 */
function createRound(db: Reader, sessions: SocketSessions): (session: SocketSession) => Promise<void> {
  const versions = new Map([...sessions].map(({ connection }) => [connection, connection.rightsVersion]))
  const callers = new Map<string, Promise<Caller>>()
  const sights = new Map<string, Promise<void>>()
  const once = <T>(known: Map<string, Promise<T>>, key: string, find: () => Promise<T>) => {
    if (!known.has(key)) known.set(key, find())
    return known.get(key)!
  }
  return async ({ connection, feed }) => {
    const rightsVersion = versions.get(connection)
    if (connection.isStalled(feed.owedBytes)) connection.end(closeCodes.tooMuch, 'More than 1 MiB waits to be read.')
    const renewal = await outcomeOf(once(callers, connection.caller.tokenHash, connection.renew))
    if (renewal instanceof Problem) return connection.end(closeCodes.unauthenticated, renewal.message)
    const caller = (connection.caller = renewal)
    for (const projectId of feed.projects) {
      const refusal = await outcomeOf(
        once(sights, `${caller.userId} ${caller.key?.id} ${projectId}`, () => requireReadAccess(db, caller, projectId)),
      )
      if (!refusal) {
        if (rightsVersion !== undefined) feed.confirm(projectId, rightsVersion)
        continue
      }
      feed.unsubscribe(projectId)
      connection.send(errorFrame(refusal, projectId))
    }
  }
}

/** Resolves to a promise's result, or to its Problem. */
async function outcomeOf<T>(promise: Promise<T>): Promise<T | Problem> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return error
    throw error
  }
}
