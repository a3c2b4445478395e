import { hash, randomBytes } from 'node:crypto'
import type { AppAccess } from '../../../src/contract/accounts/oauth.ts'
import type { Reply, TestBoard } from '../servers/testBoard.ts'

export const redirectUri = 'https://app.example.org/callback'

/** The functions of a board that an app needs. */
type Door = Pick<TestBoard, 'request' | 'as'>
/** The parameters that an app sends in the user's browser; undefined omits a parameter. */
export type Asked = Record<string, string | undefined>
export interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
  token_type: string
  scope: string
}

/** An app that sends the requests of the protocol one at a time. */
export interface ConnectedApp {
  clientId: string
  verifier: string
  /** Sends the user's browser to the board. */
  ask(more?: Asked): Promise<Reply>
  /** Starts an authorization, and returns the sealed request that the page gets. */
  request(more?: Asked): Promise<string>
  /** Makes a user allow it, and returns the redirect target. */
  approved(token: string, given?: { access?: AppAccess; projectId?: string }, more?: Asked): Promise<URL>
  /** Completes an authorization, and returns the code. */
  code(token: string, given?: { access?: AppAccess; projectId?: string }, more?: Asked): Promise<string>
  trade(code: string, more?: Asked): Promise<Reply>
  refresh(refreshToken: string, more?: Asked): Promise<Reply>
  revoke(token: string, more?: Asked): Promise<Reply>
  /** Performs all steps. */
  connect(token: string, given?: { access?: AppAccess; projectId?: string }): Promise<Tokens>
}

export const register = (board: Door, body: object = {}, headers: Record<string, string> = {}): Promise<Reply> =>
  board.request('POST', '/api/oauth/register', {
    token: null,
    body: { client_name: 'Probe', redirect_uris: [redirectUri], ...body },
    headers,
  })

export async function connectedApp(board: Door, metadata?: object): Promise<ConnectedApp> {
  const clientId = (await register(board, metadata)).body.client_id as string
  const verifier = randomBytes(32).toString('base64url')
  const form = (path: string, fields: Asked) =>
    board.request('POST', path, {
      token: null,
      raw: String(new URLSearchParams(present(fields))),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
  const ask = (more: Asked = {}) =>
    board.request(
      'GET',
      `/api/oauth/authorize?${new URLSearchParams(present({ ...asked(clientId, verifier), ...more }))}`,
      {
        token: null,
      },
    )
  const app: ConnectedApp = {
    clientId,
    verifier,
    ask,
    request: async more => sealedIn(await ask(more)),
    approved: async (token, { access = 'work', projectId } = {}, more) => {
      const request = await app.request(more)
      return new URL((await board.as(token).oauth.approve({ request, access, projectId })).redirectTo)
    },
    code: async (...given) => (await app.approved(...given)).searchParams.get('code')!,
    trade: (code, more) =>
      form('/api/oauth/token', {
        grant_type: 'authorization_code',
        client_id: clientId,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        code,
        ...more,
      }),
    refresh: (token, more) =>
      form('/api/oauth/token', {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: token,
        ...more,
      }),
    revoke: (token, more) => form('/api/oauth/revoke', { client_id: clientId, token, ...more }),
    connect: async (token, given) => (await app.trade(await app.code(token, given))).body,
  }
  return app
}

export const challengeOf = (verifier: string): string => hash('sha256', verifier, 'base64url')

/** The request in the page's address. */
export const sealedIn = ({ headers }: Reply): string => new URL(headers.get('location')!).hash.replace('#/connect/', '')

const asked = (clientId: string, verifier: string): Asked => ({
  response_type: 'code',
  client_id: clientId,
  redirect_uri: redirectUri,
  code_challenge: challengeOf(verifier),
  code_challenge_method: 'S256',
  state: 'state-of-the-app',
})

const present = (fields: Asked): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined))
