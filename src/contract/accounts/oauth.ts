import * as v from 'valibot'
import { refTo, text } from '../fields.ts'
import { anyone, get, post, user, type Permission } from '../route.ts'

/** The access levels of an app. Each includes all before it. They are also the OAuth scopes. */
export const appAccess = ['read', 'work', 'run'] as const
export type AppAccess = (typeof appAccess)[number]

const added: Record<AppAccess, readonly Permission[]> = {
  read: ['projects.read', 'boards.read', 'cards.read', 'agents.read', 'scripts.read', 'monitors.read'],
  work: ['cards.create', 'cards.update', 'cards.move', 'cards.delete', 'agents.archive', 'comments.write'],
  run: ['agents.run', 'agents.cancel', 'pipelines.trigger'],
}
/** The access levels that are included in a level, which comes last. */
export const accessUpTo = (access: AppAccess): AppAccess[] => appAccess.slice(0, appAccess.indexOf(access) + 1)
/** The permissions of an app's key. */
export const permissionsOf = (access: AppAccess): Permission[] => accessUpTo(access).flatMap(each => added[each])

/** The resource that tokens are for. */
export const resourcePath = '/api/mcp'
const resourceMetadataPath = '/.well-known/oauth-protected-resource'

const json = (description: string) => ({ description, type: 'application/json' })
const optionalText = v.optional(text(0, 4096))
/** OAuth requires a server to ignore unknown fields. */
const Form = v.looseObject({
  grant_type: optionalText,
  client_id: optionalText,
  code: optionalText,
  code_verifier: optionalText,
  redirect_uri: optionalText,
  refresh_token: optionalText,
  resource: optionalText,
  token: optionalText,
})
const Registration = v.looseObject({
  client_name: v.optional(text(0, 4096)),
  redirect_uris: v.pipe(
    v.array(text(1, 1000)),
    v.minLength(1, 'must contain at least one URL'),
    v.maxLength(10, 'must contain at most 10 URLs'),
  ),
})
const AuthorizationRequest = v.looseObject({
  client_id: text(1, 200),
  redirect_uri: v.optional(text(1, 1000)),
  response_type: optionalText,
  code_challenge: optionalText,
  code_challenge_method: optionalText,
  scope: optionalText,
  state: v.optional(text(0, 2000)),
  resource: optionalText,
})
const Sealed = { request: text(1, 16_000) }

/** An app's request for the user who decides. `name` is the app's own name; `leadsTo` is the target of the response. */
export const AppRequest = v.object({
  name: v.string(),
  leadsTo: v.string(),
  access: v.array(v.picklist(appAccess)),
})
const Decided = v.object({ redirectTo: v.string() })

export const oauth = {
  resource: get(resourceMetadataPath, {
    who: anyone,
    summary: 'Get the protected resource metadata (RFC 9728)',
    transfer: 'raw',
    answers: { 200: json('The metadata') },
  }),
  resourceOfMcp: get(`${resourceMetadataPath}/api/mcp`, {
    who: anyone,
    summary: 'Get the protected resource metadata of /api/mcp (RFC 9728)',
    transfer: 'raw',
    answers: { 200: json('The metadata') },
  }),
  server: get('/.well-known/oauth-authorization-server', {
    who: anyone,
    summary: 'Get the authorization server metadata (RFC 8414)',
    transfer: 'raw',
    answers: { 200: json('The metadata') },
  }),
  register: post('/api/oauth/register', {
    who: anyone,
    oauth: true,
    fails: ['INVALID_REDIRECT_URI'],
    rateLimit: 'registrations',
    summary: 'Register an app (RFC 7591)',
    details: 'The app has no rights until a user authorizes it.',
    input: Registration,
    transfer: 'raw',
    idempotent: false,
    status: 201,
    answers: { 201: json('The app') },
  }),
  authorize: get('/api/oauth/authorize', {
    who: anyone,
    fails: ['APP_UNKNOWN', 'APP_REQUEST_INVALID'],
    summary: 'Redirect to the page where a user authorizes an app',
    input: AuthorizationRequest,
    transfer: 'raw',
    answers: { 302: { description: 'A redirect to the page' } },
  }),
  request: post('/api/oauth/request', {
    who: user,
    fails: ['APP_UNKNOWN', 'APP_REQUEST_ENDED'],
    summary: "Get an app's authorization request",
    input: v.strictObject(Sealed),
    output: AppRequest,
  }),
  approve: post('/api/oauth/approve', {
    who: user,
    fails: ['APP_UNKNOWN', 'APP_REQUEST_ENDED', 'PROJECT_NOT_FOUND'],
    audited: { target: 'key', id: 'row.id', detail: ['access', 'clientId'] },
    summary: 'Authorize an app to act for the caller, everywhere or in one project',
    input: v.strictObject({
      ...Sealed,
      access: v.picklist(appAccess, `must be ${appAccess.join(', ')}`),
      projectId: v.optional(refTo('PROJECT_NOT_FOUND')),
    }),
    output: Decided,
  }),
  refuse: post('/api/oauth/refuse', {
    who: user,
    fails: ['APP_UNKNOWN', 'APP_REQUEST_ENDED'],
    summary: "Reject an app's authorization request",
    input: v.strictObject(Sealed),
    output: Decided,
  }),
  token: post('/api/oauth/token', {
    who: anyone,
    form: true,
    oauth: true,
    fails: ['INVALID_CLIENT', 'INVALID_GRANT', 'INVALID_TARGET', 'UNSUPPORTED_GRANT_TYPE'],
    summary: 'Exchange an authorization code or a refresh token for tokens',
    input: Form,
    transfer: 'raw',
    answers: { 200: json('The tokens') },
  }),
  revoke: post('/api/oauth/revoke', {
    who: anyone,
    form: true,
    oauth: true,
    fails: ['INVALID_CLIENT'],
    summary: 'Revoke a token of an app (RFC 7009)',
    details: 'Revoking the refresh token revokes the whole authorization.',
    input: Form,
    transfer: 'raw',
    answers: { 200: json('The token is revoked') },
  }),
}
