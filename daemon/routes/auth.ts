import type { App } from '../../src/app.ts'
import { Problem } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import { authStatus, login, logout, register, setup } from '../../src/identity/accounts.ts'
import { changeAuthSettings, readAuthSettings } from '../../src/identity/authSettings.ts'
import { changePassword, end, list } from '../../src/identity/signIns.ts'
import { maxFailuresPerMinute } from '../../src/identity/throttle.ts'
import { whoAmI } from '../../src/identity/whoAmI.ts'
import { hashToken } from '../../src/ids/token.ts'
import { signedIn, signIn } from '../../src/views/users.ts'
import type { Call, Handlers } from '../http/handlers.ts'

/** Answers that hold a token go past `call.write`: an Idempotency-Key would store them in clear. */
export const authRoutes = (app: App): Handlers<Contract['auth']> => ({
  status: () => authStatus(app),
  setup: async (input, call) =>
    signedIn(
      await tellLimit(call, setup({ ...app, db: call.db }, named(input, call), call.peer, holdsLocalToken(app, call))),
    ),
  login: async (input, call) =>
    signedIn(await tellLimit(call, login({ ...app, db: call.db }, named(input, call), call.peer))),
  register: async (input, call) =>
    signedIn(
      await tellLimit(
        call,
        register({ ...app, db: call.db }, named(input, call), call.peer, holdsLocalToken(app, call)),
      ),
    ),
  logout: (_, call) => {
    call.audit?.note({ signInId: call.caller.signInId })
    return call.write(
      tx => logout(app, tx, call.caller),
      () => undefined,
    )
  },
  // An Idempotency-Key would keep a fast hash of both passwords.
  setPassword: (input, call) => {
    call.audit?.note({ userId: call.caller.userId })
    return tellLimit(call, changePassword({ ...app, db: call.db }, call.caller, input, call.peer))
  },
  sessions: async (_, { caller }) => (await list(app, caller)).map(signIn(caller.tokenHash)),
  endSession: ({ id }, call) =>
    call.write(
      tx => end(app.identity, tx, call.caller, id),
      () => undefined,
    ),
  getSettings: () => readAuthSettings(app),
  setSettings: (change, call) =>
    call.write(
      tx => changeAuthSettings(app, tx, change),
      settings => settings,
    ),
  me: (_, { caller }) => whoAmI(app, caller),
})

/** With what the program that signs in calls itself. */
const named = <T extends object>(input: T, { request }: Call): T & { client?: string } => ({
  ...input,
  client: request.headers['user-agent'],
})

/** These routes are open to everybody, so nobody has looked at the token yet. */
const holdsLocalToken = ({ identity }: App, { request }: Call) => {
  const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  return token !== undefined && hashToken(token) === identity.localTokenHash
}

/** Writes the `RateLimit` headers where too many failures are refused. */
async function tellLimit<T>({ response }: Call, work: Promise<T>): Promise<T> {
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
