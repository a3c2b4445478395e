import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Answer, Asked } from './plainHttp.ts'

/**
 * One request with Node's own client, for what the plain one does not know: TLS, and headers that somebody typed.
 * @throws whatever keeps the answer from coming
 */
export function exchangeByNode(url: URL, { body, timeoutMs, ...options }: Asked): Promise<Answer> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...options, timeout: timeoutMs }, incoming => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes: Buffer.concat(chunks) }),
      )
    })
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
