import { Unreachable } from './failures.ts'
import { isCertificateRefusal } from './unreachable.ts'

/** The location of a server and its caller. */
export interface Place {
  /** The origin, or the origin and a path below which a proxy serves the board. */
  url: string
  token?: string
  /** The only certificate (PEM) that is accepted from the server, if the server stored it for its own account. */
  certificate?: string
}

/** A place that can change during a connection. */
export interface RenewablePlace extends Place {
  /**
   * Finds the server again if each start of the server creates a new token, and possibly uses a new port. Receives the failed place, and
   * returns the one to use from now on, or undefined if there is no other.
   */
  renew?: (failed: Place & { wasRefused: boolean }) => Promise<Place | undefined>
}

/**
 * Sends a request, and retries at a new place if the token was refused (401) or the server was not found. The connection then
 * keeps the new place.
 * @param isSafe whether the request can be repeated even if the first server received it
 * @throws the error of the last request
 */
export async function askRenewed<T extends { status: number }>(
  connection: RenewablePlace,
  isSafe: boolean,
  ask: () => Promise<T>,
): Promise<T> {
  const used = placeOf(connection)
  try {
    const answer = await ask()
    if (answer.status !== 401 || !(await renewPlace(connection, used, true))) return answer
  } catch (error) {
    if (!(error instanceof Unreachable) || !(await renewPlace(connection, used, false))) throw error
    const { code } = (error.cause ?? {}) as { code?: string }
    if (!isSafe && code !== 'ECONNREFUSED' && !isCertificateRefusal(code)) throw error
  }
  return ask()
}

/**
 * Updates the connection with the server's current place. Returns whether it differs from `used`.
 * @param wasRefused the server responded and did not accept the token
 */
export async function renewPlace(
  connection: RenewablePlace,
  used: Place = placeOf(connection),
  wasRefused = false,
): Promise<boolean> {
  if (!connection.renew) return false
  // A concurrent call might already have found the new place.
  if (isSame(connection, used)) {
    const found = await connection.renew({ ...used, wasRefused })
    if (found) Object.assign(connection, found)
  }
  return !isSame(connection, used)
}

const placeOf = ({ url, token, certificate }: Place): Place => ({ url, token, certificate })
const isSame = (one: Place, other: Place): boolean =>
  one.url === other.url && one.token === other.token && one.certificate === other.certificate
