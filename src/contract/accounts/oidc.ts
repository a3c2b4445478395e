import * as v from 'valibot'
import { text } from '../fields.ts'
import { anyone, del, get, post, superAdmin } from '../route.ts'

/**
 * Whether an address counts as verified if the provider sends no `email_verified`. With `assumed`, anyone who can set an address at the
 * provider gets the account with that address.
 */
export const EmailVerification = v.picklist(['required', 'assumed'], 'must be required or assumed')
export type EmailVerification = v.InferOutput<typeof EmailVerification>

/** The client secret is sealed and never read back. */
export const OidcSettings = v.object({
  configured: v.boolean(),
  issuerUrl: v.nullable(v.string()),
  clientId: v.nullable(v.string()),
  redirectUri: v.string(),
  allowedDomains: v.array(v.string()),
  allowedGroups: v.array(v.string()),
  groupsClaim: v.string(),
  emailVerification: EmailVerification,
})
const HttpUrl = v.pipe(
  text(1, 2000),
  v.url('must be a URL'),
  v.check(value => /^https?:$/.test(new URL(value).protocol), 'must be an http or https URL'),
)
const Domain = v.pipe(
  text(1, 253),
  v.toLowerCase(),
  v.regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'must be the domain of an email address, such as example.org'),
)
/**
 * The provider and its restrictions. An omitted field is unchanged, and an empty list does not restrict. A new issuer must verify addresses
 * again.
 */
const SetOidc = v.strictObject({
  issuerUrl: HttpUrl,
  clientId: text(1, 500),
  clientSecret: text(1, 2000),
  allowedDomains: v.optional(v.pipe(v.array(Domain), v.maxLength(100))),
  allowedGroups: v.optional(v.pipe(v.array(text(1, 500)), v.maxLength(100))),
  groupsClaim: v.optional(text(1, 200)),
  emailVerification: v.optional(EmailVerification),
})
/** Accepts only the address of a program that listens on the browser's machine. */
const Loopback = v.pipe(
  text(1, 200),
  v.url('must be a URL'),
  v.regex(
    /^http:\/\/(127\.0\.0\.1|\[::1\]):[1-9]\d{0,4}(\/[\w-]{0,100})?$/,
    'must be http://127.0.0.1 or http://[::1] with a port',
  ),
)
const Challenge = v.pipe(v.string(), v.regex(/^[\w-]{43}$/, 'must be the SHA-256 of a verifier in base64url'))
const Callback = v.looseObject({
  code: v.optional(text(1, 4096)),
  state: v.optional(text(1, 4096)),
  error: v.optional(text(1, 500)),
})

export const oidc = {
  get: get('/api/settings/oidc', {
    who: superAdmin,
    summary: 'Get the single sign-on settings',
    output: OidcSettings,
  }),
  set: post('/api/settings/oidc', {
    audited: { target: 'settings', named: 'oidc', detail: ['issuerUrl', 'clientId', 'emailVerification'] },
    who: superAdmin,
    summary: 'Set the single sign-on settings',
    input: SetOidc,
    output: OidcSettings,
  }),
  delete: del('/api/settings/oidc', {
    audited: { target: 'settings', named: 'oidc' },
    who: superAdmin,
    summary: 'Delete the single sign-on settings',
  }),
  test: post('/api/oidc/test', {
    who: superAdmin,
    fails: ['OIDC_NOT_CONFIGURED'],
    summary: "Test the single sign-on settings by fetching the identity provider's metadata",
    output: v.object({ ok: v.boolean(), issuer: v.nullable(v.string()), error: v.nullable(v.string()) }),
  }),
  /**
   * The client that waits for a one-time code, with the code's challenge: `loopback` for `board auth login --oidc`, which
   * listens on its own machine, or `page` for the board's own page. `moved`: the browser was already redirected to the
   * server's own address.
   */
  login: get('/api/oidc/login', {
    who: anyone,
    fails: ['OIDC_NOT_CONFIGURED', 'OIDC_REFUSED', 'SEALED_WITH_OTHER_KEY', 'PROVIDER_UNAVAILABLE', 'FORBIDDEN'],
    summary: 'Redirect to the identity provider',
    answers: { 302: { description: 'A redirect to the identity provider' } },
    input: v.strictObject({
      loopback: v.optional(Loopback),
      page: v.optional(v.literal('1')),
      challenge: v.optional(Challenge),
      moved: v.optional(v.literal('1')),
    }),
    transfer: 'raw',
  }),
  callback: get('/api/oidc/callback', {
    audited: { target: 'user', id: 'user.id' },
    who: anyone,
    fails: ['OIDC_SIGN_IN_UNKNOWN', 'OIDC_NOT_CONFIGURED', 'OIDC_REFUSED', 'PROVIDER_UNAVAILABLE'],
    rateLimit: 'pendingSignIns',
    summary: 'Complete a single sign-on',
    input: Callback,
    transfer: 'raw',
    answers: {
      200: { description: 'A page that shows the account that is signed in', type: 'text/html' },
      302: { description: 'A redirect to the program that waits for the one-time code' },
    },
  }),
  exchange: post('/api/oidc/exchange', {
    audited: { target: 'user', id: 'user.id' },
    who: anyone,
    fails: ['INVALID_CREDENTIALS'],
    summary: 'Exchange the one-time code of a single sign-on for a token',
    input: v.strictObject({ code: text(1, 200), verifier: text(43, 128) }),
    output: v.object({
      token: v.string(),
      user: v.object({ id: v.string(), email: v.string(), displayName: v.string(), role: v.string() }),
    }),
  }),
}
