import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { ServerConfig } from '../../../src/config/server.ts'
import { Browser, type Shown, type Steps } from './browser.ts'
import { startBoard, type Reply, type TestBoard } from '../servers/testBoard.ts'
import { startIdentityProvider, type IdentityProvider } from './identityProvider.ts'

/** The address at which a program would wait for the code. No server listens there: the browser stops before it. */
export const loopback = 'http://127.0.0.1:9/listener'

export interface Ended {
  goTo: URL
  verifier: string
  shown: Shown
}
export interface SignedIn {
  token: string
  user: { id: string; email: string; displayName: string; role: string }
}

type OidcChange = Partial<Parameters<TestBoard['client']['oidc']['set']>[0]>

/** A server that has its first user, root@example.org, and signs people in through a real provider. */
export interface SingleSignOn {
  board: TestBoard
  provider: IdentityProvider
  /** Configures it again, with these changes. */
  configure(change?: OidcChange): Promise<unknown>
  /** Starts a sign-in like a program, and ends where the browser would call the program. */
  signInFor(subject: string, steps?: Steps, browser?: Browser): Promise<Ended>
  /** Signs in like a program. */
  tokenOf(subject: string): Promise<SignedIn>
  /** The rejection of a sign-in that a program waits for: code and message. */
  refusalOf(subject: string, steps?: Steps): Promise<[string | null, string | null]>
  /** Sets the server's clock ahead. */
  setAhead(ms: number): void
  close(): Promise<void>
}

/** @param change the provider's configuration @param client the registration of this server at the provider */
export async function startSingleSignOn(
  config: Partial<ServerConfig> = {},
  change?: Parameters<typeof startIdentityProvider>[1],
): Promise<SingleSignOn> {
  let aheadMs = 0
  const board = await startBoard({ clock: () => new Date(Date.now() + aheadMs), ...config })
  const provider = await startIdentityProvider((await board.client.oidc.get()).redirectUri, change)
  await board.client.auth.setup({ email: 'root@example.org', password: 'correct horse 1' })
  const configure = (settings: OidcChange = {}) =>
    board.client.oidc.set({
      issuerUrl: provider.issuer,
      clientId: provider.clientId,
      clientSecret: provider.clientSecret,
      ...settings,
    })
  await configure()
  const signInFor = async (subject: string, steps: Steps = {}, browser = new Browser()): Promise<Ended> => {
    const verifier = randomBytes(32).toString('base64url')
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const shown = await browser.signIn(
      `${board.url}/api/oidc/login?${new URLSearchParams({ loopback, challenge })}`,
      subject,
      { ...steps, stopAt: url => isLoopback(url) || steps.stopAt?.(url) === true },
    )
    return { goTo: new URL(shown.url), verifier, shown }
  }
  return {
    board,
    provider,
    configure,
    signInFor,
    tokenOf: async subject => {
      const { goTo, verifier } = await signInFor(subject)
      return board.client.oidc.exchange({ code: goTo.searchParams.get('code') ?? `none at ${goTo}`, verifier })
    },
    refusalOf: async (subject, steps) => {
      const { goTo } = await signInFor(subject, steps)
      expect([...goTo.searchParams.keys()]).toEqual(['error', 'message'])
      return [goTo.searchParams.get('error'), goTo.searchParams.get('message')]
    },
    setAhead: ms => {
      aheadMs = ms
    },
    close: async () => {
      await provider.close()
      await board.close()
    },
  }
}

export const isLoopback = (url: URL): boolean => url.href.startsWith(`${loopback}?`)
export const isCallback = ({ pathname }: URL): boolean => pathname.endsWith('/api/oidc/callback')
export const codeOf = ({ status, body }: Reply): [number, string | undefined] => [status, body?.error?.code]
