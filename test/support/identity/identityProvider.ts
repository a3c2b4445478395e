import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration } from 'oidc-provider'
import { vi } from 'vitest'

/** The claims of a user at the provider. */
export interface Person {
  email?: string
  email_verified?: boolean | string
  name?: string
  groups?: unknown
}

/** The certified `oidc-provider` on loopback, whose login page accepts any subject. */
export interface IdentityProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** The claims by subject. Changes apply immediately. */
  people: Map<string, Person>
  /** The requested paths. */
  asked: string[]
  /** Stops responding; `up` responds on the same port again. */
  down(): Promise<void>
  up(): Promise<void>
  close(): Promise<void>
}

/** Starts a provider with one registered client. `change` overrides its configuration. */
export async function startIdentityProvider(
  redirectUri: string,
  change: Configuration = {},
  clientChange: Record<string, unknown> = {},
): Promise<IdentityProvider> {
  // The provider library warns of settings that are only for tests.
  const quiet = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'info')].map(spy =>
    spy.mockImplementation(() => undefined),
  )
  const { Provider } = await import('oidc-provider')
  const people = new Map<string, Person>()
  const asked: string[] = []
  let server = await listen(0)
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  const client = { clientId: 'board', clientSecret: `client-secret-${randomUUID()}` }
  const provider = new Provider(issuer, {
    clients: [
      { client_id: client.clientId, client_secret: client.clientSecret, redirect_uris: [redirectUri], ...clientChange },
    ],
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [signingKey()] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    findAccount: (_context, subject) => ({
      accountId: subject,
      claims: async () => ({ sub: subject, ...people.get(subject) }) as { sub: string },
    }),
    ...change,
  })
  const answer = provider.callback()
  const serve = () =>
    server.on('request', (request, response) => {
      asked.push(request.url!.split('?')[0]!)
      void answer(request, response)
    })
  serve()
  return {
    issuer,
    ...client,
    people,
    asked,
    down: () => stop(server),
    up: async () => {
      server = await listen(port)
      serve()
    },
    close: async () => {
      await stop(server)
      for (const spy of quiet) spy.mockRestore()
    },
  }
}

const signingKey = () => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  use: 'sig',
  alg: 'RS256',
  kid: 'one',
})

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
