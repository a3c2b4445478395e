import { parseLibsqlUrl } from '@libsql/hrana-client'
import { Problem } from '../../../contract/errors.ts'
import type { Connection } from './hrana.ts'
import { openHranaHttp } from './hranaHttp.ts'
import { openHranaSocket } from './hranaSocket.ts'

const tokenCheckMs = 1400

/** Whether an address uses a persistent connection, on which streams can stay open. */
export const staysOpen = (url: string): boolean => /^wss?:/.test(url)

/** Opens a connection to a libSQL server. */
export const openHrana = (url: string, token?: string): Connection =>
  staysOpen(url) ? openHranaSocket(url, token) : openHranaHttp(url, token)

/**
 * Checks, in a separate request, that a libSQL server accepts the token. Over a WebSocket, a server can reject a token by closing
 * the connection, as if it were unreachable.
 * @throws Problem UNAUTHENTICATED; does not throw if the server is unreachable
 */
export async function requireAcceptedToken(url: string, token?: string): Promise<void> {
  const { hranaHttpUrl, hranaWsUrl } = parseLibsqlUrl(url)
  const base = (hranaHttpUrl ?? hranaWsUrl!.replace(/^ws/, 'http')).replace(/\/?$/, '/')
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const status = await fetch(new URL('v2/pipeline', base), {
    method: 'POST',
    headers,
    body: '{"baton":null,"requests":[]}',
    redirect: 'manual',
    signal: AbortSignal.timeout(tokenCheckMs),
  }).then(
    async answer => {
      await answer.body?.cancel()
      return answer.status
    },
    () => undefined,
  )
  if (status === 401)
    throw new Problem(
      'UNAUTHENTICATED',
      'The database server rejects the token in BOARD_DATABASE_TOKEN, or requires one.',
    )
}
