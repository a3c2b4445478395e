import type { App } from '../../../src/app.ts'
import { Problem } from '../../../src/contract/errors.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { authStatus, login, logout, register, setup } from '../../../src/identity/accounts.ts'
import { changeAuthSettings, readAuthSettings } from '../../../src/identity/authSettings.ts'
import { issueTicket, redeemTicket } from '../../../src/identity/browserTickets.ts'
import { changePassword, end, list, originOf } from '../../../src/identity/signIns.ts'
import { maxFailuresPerMinute } from '../../../src/identity/throttle.ts'
import { whoAmI } from '../../../src/identity/whoAmI.ts'
import { hashToken } from '../../../src/domain/accounts/token.ts'
import { signedIn, signIn } from '../../../src/views/users.ts'
import type { Call, Handlers } from '../../http/handlers.ts'

/**
 * Responses with a token bypass `call.write`, which stores the responses of requests with an Idempotency-Key in plain
 * text.
 */
export const authRoutes = (
  app: Pick<App, 'browserTickets' | 'config' | 'db' | 'identity'>,
): Handlers<Contract['auth']> => ({
  status: async (_, { peer }) => authStatus(app, await peer.isOwn()),
  setup: async (input, call) =>
    signedIn(
      await withLimitHeaders(
        call,
        setup({ ...app, db: call.db }, withClientName(input, call), call.peer, holdsLocalToken(app, call)),
      ),
    ),
  login: async (input, call) =>
    signedIn(await withLimitHeaders(call, login({ ...app, db: call.db }, withClientName(input, call), call.peer))),
  register: async (input, call) =>
    signedIn(
      await withLimitHeaders(
        call,
        register({ ...app, db: call.db }, withClientName(input, call), call.peer, holdsLocalToken(app, call)),
      ),
    ),
  logout: (_, call) => {
    call.audit?.addFields({ signInId: call.caller.signInId })
    return call.write(tx => logout(app, tx, call.caller))
  },
  createTicket: (_, { caller }) => issueTicket(app.browserTickets, caller, app.config.clock()),
  redeemTicket: async ({ ticket }, { db, peer, request }) =>
    signedIn(
      await redeemTicket(
        { db, tickets: app.browserTickets },
        ticket,
        originOf(peer, { client: request.headers['user-agent'] }),
      ),
    ),
  // Bypasses `call.write`: with an Idempotency-Key it would store a fast hash of both passwords.
  setPassword: (input, call) => {
    call.audit?.addFields({ userId: call.caller.userId })
    return withLimitHeaders(call, changePassword({ ...app, db: call.db }, call.caller, input, call.peer))
  },
  sessions: async (_, { caller }) => (await list(app, caller)).map(signIn(caller.tokenHash)),
  endSession: ({ id }, call) => call.write(tx => end(app.identity, tx, call.caller, id)),
  getSettings: () => readAuthSettings(app),
  setSettings: (change, call) =>
    call.write(
      tx => changeAuthSettings(app, tx, change),
      settings => settings,
    ),
  me: (_, { caller }) => whoAmI(app, caller),
})

/** Adds the client's own name. */
const withClientName = <T extends object>(input: T, { request }: Call): T & { client?: string } => ({
  ...input,
  client: request.headers['user-agent'],
})

/** Checks for the local token on routes without authentication, which have not checked the token. */
const holdsLocalToken = ({ identity }: Pick<App, 'identity'>, { request }: Call) => {
  const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  return token !== undefined && hashToken(token) === identity.localTokenHash
}

/** Adds the `RateLimit` headers to a refusal after too many failures. */
async function withLimitHeaders<T>({ response }: Call, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Problem && error.code === 'RATE_LIMITED') {
      response.setHeader('ratelimit-policy', `"failures";q=${maxFailuresPerMinute};w=60`)
      response.setHeader('ratelimit', `"failures";r=0;t=${Math.max(1, Math.ceil(error.retryAfterSecs ?? 1))}`)
    }
    throw error
  }
}
