import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { FastResponse } from 'srvx'

/** Whether `If-None-Match` names the current response. */
export const matchesEtag = (header: string | undefined, tag: string): boolean =>
  header !== undefined && (header.trim() === '*' || header.includes(`"${tag}"`))

interface CachedBody {
  bytes: Buffer
  headers: Record<string, string>
  tag: string
}

/**
 * Serves a response that is constant while the server runs. The first request creates it. A client with a current copy gets 304.
 */
export function cachedResponse(make: () => Promise<Response>): (request: IncomingMessage) => Promise<Response> {
  let made: Promise<CachedBody> | undefined
  return async ({ headers: asked }) => {
    made ??= make()
      .then(cacheBody)
      .catch(error => {
        made = undefined
        throw error
      })
    const { bytes, headers, tag } = await made
    return matchesEtag(asked['if-none-match'], tag)
      ? new Response(null, { status: 304, headers })
      : new FastResponse(bytes, { headers: { ...headers, 'content-length': String(bytes.length) } })
  }
}

async function cacheBody(response: Response): Promise<CachedBody> {
  const bytes = Buffer.from(await response.arrayBuffer())
  const tag = hash('sha256', bytes, 'base64url')
  // The content can change with the next server version.
  return {
    bytes,
    tag,
    headers: { ...Object.fromEntries(response.headers), etag: `"${tag}"`, 'cache-control': 'no-cache' },
  }
}
