import { Unreachable } from './failures.ts'
import { isCertificateRefusal } from './unreachable.ts'

/** Where a server is and who calls it. */
export interface Place {
  /** The origin, or the origin and a path below which a proxy serves the board. */
  url: string
  token?: string
  /** The only certificate (PEM) that is taken for the server's, where it left it for its own account. */
  certificate?: string
}

/** A place that may change while one is connected. */
export interface RenewablePlace extends Place {
  /**
   * Finds the server again where each start of it brings a new token, and perhaps a new port. It is given the place that failed,
   * and returns the one to use from now on, or undefined when it knows no other.
   */
  renew?: (failed: Place & { wasRefused: boolean }) => Promise<Place | undefined>
}

/**
 * Asks, and asks once more at a new place when the token was refused (401) or nothing was there. The connection holds the new
 * place from then on.
 * @param isSafe whether it may be asked twice even if the first server heard it
 * @throws whatever the last asking throws
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
 * Puts the place into the connection at which the server is now. Returns whether it is another one than `used`.
 * @param wasRefused the server answered and did not take the token
 */
export async function renewPlace(
  connection: RenewablePlace,
  used: Place = placeOf(connection),
  wasRefused = false,
): Promise<boolean> {
  if (!connection.renew) return false
  // Somebody who asked beside may have found the new place already.
  if (isSame(connection, used)) {
    const found = await connection.renew({ ...used, wasRefused })
    if (found) Object.assign(connection, found)
  }
  return !isSame(connection, used)
}

const placeOf = ({ url, token, certificate }: Place): Place => ({ url, token, certificate })
const isSame = (one: Place, other: Place): boolean =>
  one.url === other.url && one.token === other.token && one.certificate === other.certificate
