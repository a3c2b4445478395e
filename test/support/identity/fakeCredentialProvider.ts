import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request to a provider. `body` is the fields of a form. */
export interface Seen {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Record<string, string>
  atMs: number
}
type Answer = (seen: Seen, response: ServerResponse) => void

/** A provider on loopback that replaces all of them: it has valid keys, authorizes devices, and records its requests. */
export interface FakeCredentialProvider {
  url: string
  seen: Seen[]
  /** Requests for a path, in order. */
  asked(path: string): Seen[]
  /** The currently valid API key or access token. */
  goodKey: string
  /** The response to the next token requests of a device: an OAuth error code, or tokens. */
  outcome: string | Record<string, unknown>
  /** The response to a refresh token. */
  refreshed: string | Record<string, unknown>
  /** Overrides the response of a path. */
  on(path: string, answer: Answer): void
  close(): Promise<void>
}

const deviceCode = 'device-code-that-nobody-may-see'
export const canaryDeviceCode = deviceCode

/** @param errorStatus the status of OAuth errors: 400 by the standard, 200 on GitHub */
export async function startCredentialProvider(errorStatus = 400): Promise<FakeCredentialProvider> {
  const answers = new Map<string, Answer>()
  const server = createServer((request, response) => {
    let text = ''
    request
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        text += chunk
      })
      .on('end', () => {
        const seen: Seen = {
          method: request.method!,
          path: request.url!,
          headers: request.headers,
          body: Object.fromEntries(new URLSearchParams(text)),
          atMs: performance.now(),
        }
        provider.seen.push(seen)
        const answer = answers.get(seen.path)
        if (answer) answer(seen, response)
        else json(response, 404, { error: 'not_found' })
      })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: FakeCredentialProvider = {
    url,
    seen: [],
    goodKey: 'sk-good-key-0123456789',
    outcome: 'authorization_pending',
    refreshed: 'invalid_grant',
    asked: path => provider.seen.filter(seen => seen.path === path),
    on: (path, answer) => {
      answers.set(path, answer)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  for (const path of ['/v1/models', '/v1beta/models', '/api/v1/key', '/user', '/models'])
    provider.on(path, (seen, response) => json(response, isGood(seen, provider.goodKey) ? 200 : 401, { data: [] }))
  for (const path of ['/device', '/device/code', '/login/device/code'])
    provider.on(path, (seen, response) => startDevice(url, seen, response))
  const token: Answer = ({ body }, response) => {
    const outcome =
      body.grant_type === 'refresh_token'
        ? provider.refreshed
        : body.device_code === deviceCode
          ? provider.outcome
          : 'invalid_grant'
    json(
      response,
      typeof outcome === 'string' ? errorStatus : 200,
      typeof outcome === 'string'
        ? { error: outcome, error_description: 'words' }
        : { token_type: 'bearer', ...outcome },
    )
  }
  for (const path of ['/token', '/login/oauth/access_token']) provider.on(path, token)
  provider.on('/.well-known/openid-configuration', (_, response) =>
    json(response, 200, {
      issuer: `${url}/`,
      token_endpoint: `${url}/token`,
      device_authorization_endpoint: `${url}/device`,
      scopes_supported: ['openid', 'offline_access'],
    }),
  )
  return provider
}

/** Each provider has its own place for the key. */
const isGood = ({ headers }: Seen, key: string) =>
  [headers['x-api-key'], headers['x-goog-api-key'], headers.authorization?.replace(/^Bearer /, '')].includes(key)

function startDevice(url: string, { path, body }: Seen, response: ServerResponse): void {
  if (body.client_id === 'unknown') return json(response, 400, { error: 'invalid_client' })
  const page = `${url}/activate`
  json(response, 200, {
    device_code: deviceCode,
    user_code: 'WDJB-MJHT',
    expires_in: 900,
    interval: 1,
    ...(path === '/device/code' ? { verification_url: page } : { verification_uri: page }),
  })
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}
