import { Problem } from '../../src/contract/errors.ts'
import { ClientMessage } from '../../src/contract/server/events.ts'
import { projectRole } from '../../src/domain/accounts/access.ts'
import type { Caller } from '../../src/domain/accounts/caller.ts'
import { audienceOf, eventPermissions } from '../../src/domain/accounts/eventAudience.ts'
import type { Reader } from '../../src/store/engine/database.ts'
import { validate } from '../http/validate.ts'
import { closeCodes, type Connection } from './connection.ts'
import type { Feed } from './feed.ts'
import { errorFrame, pongFrame } from './frame.ts'

/**
 * Handles a client's message and answers it; an invalid message is answered with an error.
 * @param raw text, or bytes when the message was binary
 */
export async function handleMessage(
  db: Reader,
  { connection, feed }: { connection: Connection; feed: Feed },
  raw: unknown,
): Promise<void> {
  let projectId: number | undefined
  try {
    const message = parse(raw)
    if (message.type === 'ping') return connection.send(pongFrame)
    projectId = Number(message.payload.projectId)
    if (message.type === 'unsubscribe') return feed.unsubscribe(projectId)
    const { rightsVersion } = connection
    // The token might have been revoked while the socket was opening.
    connection.caller = await connection.renew()
    await requireReadAccess(db, connection.caller, projectId)
    if (feed.projects.length >= maxProjects && !feed.projects.includes(projectId))
      throw new Problem('VALIDATION_FAILED', `A socket can follow up to ${maxProjects} projects.`)
    await feed.subscribe(projectId, rightsVersion, message.payload.since)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.status === 401) return connection.end(closeCodes.unauthenticated, error.message)
    connection.send(errorFrame(error, projectId))
  }
}

const maxProjects = 500

function parse(raw: unknown): ClientMessage {
  if (typeof raw !== 'string') throw new Problem('VALIDATION_FAILED', 'A message must be text.')
  let value: unknown
  try {
    value = JSON.parse(raw)
  } catch (error) {
    throw new Problem('INVALID_JSON', 'The message is not valid JSON.', { cause: error })
  }
  return validate(ClientMessage, value) as ClientMessage
}

/**
 * Requires that a caller can see a project and some of its events.
 * @throws Problem INSUFFICIENT_PERMISSIONS, PROJECT_NOT_FOUND
 */
export async function requireReadAccess(db: Reader, caller: Caller, projectId: number): Promise<void> {
  if (!audienceOf(caller.key?.permissions).seesAnything)
    throw new Problem(
      'INSUFFICIENT_PERMISSIONS',
      `The API key cannot read events: it lacks ${eventPermissions.join(', ')}.`,
    )
  if (!(await projectRole(db, caller, projectId))) throw new Problem('PROJECT_NOT_FOUND')
}

/** Whether the caller of a connection can see a project and some of its events. */
export const canRead = (db: Reader, { caller }: Connection, projectId: number): Promise<boolean> =>
  requireReadAccess(db, caller, projectId).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Problem && error.status < 500) return false
      throw error
    },
  )
