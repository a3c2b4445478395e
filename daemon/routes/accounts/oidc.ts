import type { IncomingMessage } from 'node:http'
import type { App } from '../../../src/app.ts'
import { invalid, Problem } from '../../../src/contract/errors.ts'
import { contract, type Contract } from '../../../src/contract/index.ts'
import { begin, complete, exchange, pendingMs, test } from '../../../src/identity/oidc.ts'
import { originOf } from '../../../src/identity/signIns.ts'
import { deleteOidcSettings, readOidcSettings, setOidcSettings } from '../../../src/identity/oidcSettings.ts'
import { oidcSettings } from '../../../src/views/oidc.ts'
import { signedIn } from '../../../src/views/users.ts'
import type { Call, Handlers } from '../../http/handlers.ts'
import { serverUrl } from '../../documents/serverUrl.ts'
import { answerPage, signedInPage } from '../../documents/signInPage.ts'

/** The server's only cookie: the state of a pending sign-in. It does not authenticate users. */
const cookieName = 'board_oidc'

/**
 * The response with a token bypasses `call.write`, which stores the responses of requests with an Idempotency-Key in
 * plain text.
 */
export const oidcRoutes = (app: Pick<App, 'config' | 'db' | 'oidc' | 'seal'>): Handlers<Contract['oidc']> => ({
  get: async (_, call) => oidcSettings(await readOidcSettings(app.db), redirectUri(app, call)),
  set: (input, call) =>
    call.write(
      tx => setOidcSettings(app.seal, tx, input),
      settings => oidcSettings(settings, redirectUri(app, call)),
    ),
  delete: (_, call) => call.write(deleteOidcSettings),
  test: () => test(app.oidc),
  login: (input, call) => answerPage(call.request.headers.accept, () => sendToProvider(app, call, input)),
  callback: (input, call) =>
    answerPage(call.request.headers.accept, () => noteRefusal(call, () => finish(app, call, input))),
  exchange: async ({ code, verifier }, { db, peer, request }) =>
    signedIn(
      await exchange({ ...app.oidc, db }, code, verifier, originOf(peer, { client: request.headers['user-agent'] })),
    ),
})

/**
 * Redirects to the provider. The state is a cookie of one host name, so a browser that uses another name of this
 * server is redirected to the configured one first.
 */
async function sendToProvider(
  app: Pick<App, 'config' | 'oidc'>,
  call: Call,
  { page, challenge, moved, ...given }: { loopback?: string; page?: '1'; challenge?: string; moved?: '1' },
): Promise<Response> {
  const loopback = page ? `${serverUrl(app, call)}/` : given.loopback
  if ((loopback === undefined) !== (challenge === undefined))
    throw loopback === undefined
      ? invalid('loopback', 'is required together with challenge')
      : invalid('challenge', 'is required together with loopback or page')
  if (page && given.loopback !== undefined) throw invalid('loopback', 'cannot be combined with page')
  if (loopback !== undefined) refuseForeignLink(call.request)
  const callback = redirectUri(app, call)
  if (call.request.headers.host !== new URL(callback).host && !moved) {
    // The page keeps the verifier in storage that belongs to its address, so the sign-in must begin again at the configured address.
    if (page) return redirect(`${loopback}#/sign-on`)
    return redirect(
      `${serverUrl(app, call)}${contract.oidc.login.path}?${new URLSearchParams({ ...(loopback !== undefined && { loopback, challenge: challenge! }), moved: '1' })}`,
    )
  }
  const { url, pending } = await begin(
    app.oidc,
    callback,
    loopback === undefined ? undefined : { loopback, challenge: challenge!, isPage: page !== undefined },
  )
  return redirect(url, cookie(callback, pending, pendingMs / 1000))
}

async function finish(
  app: Pick<App, 'config' | 'oidc'>,
  call: Call,
  input: Record<string, unknown>,
): Promise<Response> {
  const answer = new URLSearchParams(
    Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const outcome = await complete(app.oidc, answer, readCookie(call.request))
  call.audit?.addFields(outcome)
  const forgetPending = cookie(redirectUri(app, call), '', 0)
  if ('problem' in outcome) await recordRefusal(call, outcome.problem)
  if ('goTo' in outcome) return redirect(outcome.goTo, forgetPending)
  const page = signedInPage(outcome.user.email, serverUrl(app, call))
  page.headers.append('set-cookie', forgetPending)
  return page
}

/** Records a failure in the audit log even if it is shown as a page. */
async function noteRefusal(call: Call, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Problem) await recordRefusal(call, error)
    throw error
  }
}

async function recordRefusal({ audit }: Call, problem: Problem): Promise<void> {
  await audit?.recordRefusal({ status: 401, code: problem.code })
  audit?.leaveOut()
}

/**
 * Prevents login CSRF: another site could send its visitor through a sign-in whose code goes to another program on the visitor's machine.
 * Browsers send the origin of a navigation, except if a program opened the address or a user typed it.
 */
function refuseForeignLink({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  if (site === 'cross-site' || site === 'same-site')
    throw new Problem(
      'FORBIDDEN',
      "A link on another site opened this page. If you trust the address, copy it to the browser's address bar.",
    )
}

const redirectUri = (app: Pick<App, 'config'>, call: Call) => serverUrl(app, call) + contract.oidc.callback.path

const redirect = (location: string, setCookie?: string) =>
  new Response(null, {
    status: 302,
    headers: {
      location,
      'referrer-policy': 'no-referrer',
      ...(setCookie !== undefined && { 'set-cookie': setCookie }),
    },
  })

const cookie = (callback: string, value: string, maxAgeSecs: number) => {
  const { pathname, protocol } = new URL(callback)
  return `${cookieName}=${value}; Path=${pathname}; Max-Age=${maxAgeSecs}; HttpOnly; SameSite=Lax${protocol === 'https:' ? '; Secure' : ''}`
}

const readCookie = ({ headers }: IncomingMessage) =>
  headers.cookie
    ?.split(/; */)
    .find(each => each.startsWith(`${cookieName}=`))
    ?.slice(cookieName.length + 1)
