import * as v from 'valibot'
import { Slots } from '../agents/agentSlots.ts'
import { Count, Id, Name, refTo, text, Time } from '../fields.ts'
import { ofCard, ofProject } from '../notFound.ts'
import { del, get, member, manager, patch, post, put, user } from '../route.ts'

export const CredentialProvider = v.picklist(
  ['anthropic', 'openai', 'google', 'openrouter', 'github', 'gitlab', 'gitea', 'custom'],
  'must be anthropic, openai, google, openrouter, github, gitlab, gitea or custom',
)
export type CredentialProvider = v.InferOutput<typeof CredentialProvider>
const BaseUrl = v.pipe(
  text(1, 2000),
  v.url('must be a URL'),
  v.check(value => /^https?:$/.test(new URL(value).protocol), 'must be an http or https URL'),
  v.check(value => {
    const { username, password, search, hash } = new URL(value)
    return username + password + search + hash === ''
  }, 'must not contain a user name, password, query or fragment'),
)
const ApiKey = v.pipe(text(1, 10_000), v.regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces'))

const HeaderName = v.pipe(
  text(1, 100),
  v.regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be a header name'),
  v.check(
    name => !/^(host|connection|content-length|transfer-encoding)$/i.test(name),
    'must not be a header that the server sets',
  ),
)
const HeaderValue = v.pipe(text(1, 4096), v.regex(/^[\x20-\x7e]+$/, 'must be printable ASCII'))
const Headers = v.pipe(
  v.record(HeaderName, HeaderValue),
  v.check(headers => Object.keys(headers).length <= 20, 'must have at most 20 headers'),
)
const Models = v.pipe(v.array(text(1, 200)), v.maxLength(100, 'must have at most 100 models'))

/** `headers` contains only names. */
export const Credential = v.object({
  id: Id,
  name: Name,
  provider: CredentialProvider,
  baseUrl: v.nullable(v.string()),
  kind: v.picklist(['api_key', 'oauth']),
  headers: v.array(v.string()),
  models: v.array(v.string()),
  /** The maximum number of concurrent agents with this credential. Null if unlimited. */
  agentSlots: Slots,
  createdAt: Time,
  updatedAt: Time,
})
/** The key is masked: at most its last four characters are shown. */
export const MaskedCredential = v.object({ ...Credential.entries, apiKey: v.nullable(v.string()) })
const Usage = v.object({
  sessions: Count,
  inputTokens: Count,
  outputTokens: Count,
  costUsd: v.number(),
  byDay: v.array(
    v.object({ day: v.string(), sessions: Count, inputTokens: Count, outputTokens: Count, costUsd: v.number() }),
  ),
})
const CreateCredential = v.strictObject({
  name: Name,
  provider: CredentialProvider,
  apiKey: v.optional(ApiKey),
  baseUrl: v.optional(BaseUrl),
  headers: v.optional(Headers, {}),
  models: v.optional(Models, []),
})
const UpdateCredential = v.strictObject({
  name: v.optional(Name),
  apiKey: v.optional(ApiKey),
  baseUrl: v.optional(v.nullable(BaseUrl)),
  headers: v.optional(Headers),
  models: v.optional(Models),
  agentSlots: v.optional(Slots),
})
const InitOauth = v.strictObject({
  provider: CredentialProvider,
  name: v.optional(Name),
  baseUrl: v.optional(BaseUrl),
  clientId: v.optional(text(1, 500)),
})
const Choose = v.strictObject({ credentialId: v.nullable(refTo('CREDENTIAL_NOT_FOUND')) })
const Chosen = v.object({ id: Id, credentialId: v.nullable(Id) })

export const credentials = {
  list: get('/api/credentials', { who: user, summary: "List the caller's credentials", output: v.array(Credential) }),
  create: post('/api/credentials', {
    fails: ['SEALED_WITH_OTHER_KEY'],
    audited: { target: 'credential', id: 'id', detail: ['provider'] },
    who: user,
    summary: 'Create a credential',
    details: 'Its API key is stored encrypted.',
    input: CreateCredential,
    output: Credential,
    idempotent: true,
    status: 201,
  }),
  get: get('/api/credentials/{id}', {
    notFound: { id: 'CREDENTIAL_NOT_FOUND' },
    who: user,
    summary: 'Get a credential with its API key masked',
    output: MaskedCredential,
  }),
  update: patch('/api/credentials/{id}', {
    notFound: { id: 'CREDENTIAL_NOT_FOUND' },
    audited: { target: 'credential' },
    who: user,
    summary: 'Update a credential',
    input: UpdateCredential,
    output: Credential,
  }),
  delete: del('/api/credentials/{id}', {
    notFound: { id: 'CREDENTIAL_NOT_FOUND' },
    audited: { target: 'credential' },
    who: user,
    summary: 'Delete a credential, and clear it from its projects, cards, organizations and agent profiles',
  }),
  verify: post('/api/credentials/{id}/verify', {
    fails: ['SEALED_WITH_OTHER_KEY'],
    notFound: { id: 'CREDENTIAL_NOT_FOUND' },
    who: user,
    summary: 'Verify a credential with its provider',
    output: v.object({ valid: v.boolean(), detail: v.nullable(v.string()) }),
  }),
  usage: get('/api/credentials/{id}/usage', {
    notFound: { id: 'CREDENTIAL_NOT_FOUND' },
    who: user,
    summary: 'Get the usage of a credential by agents',
    output: Usage,
  }),
  initOauth: post('/api/credentials/oauth/init', {
    fails: ['PROVIDER_UNAVAILABLE'],
    audited: { target: 'credential', id: 'credentialId', detail: ['provider'] },
    who: user,
    summary: 'Start a device authorization (RFC 8628)',
    input: InitOauth,
    output: v.object({ credentialId: Id, userCode: v.string(), verificationUri: v.string(), expiresAt: Time }),
  }),
  oauthStatus: get('/api/credentials/{id}/oauth/status', {
    notFound: { id: 'CREDENTIAL_NOT_FOUND' },
    who: user,
    fails: ['CONFLICT', 'SEALED_WITH_OTHER_KEY'],
    summary: 'Get the status of a device authorization',
    output: v.object({ status: v.picklist(['pending', 'complete', 'failed', 'expired']) }),
  }),
  choose: put('/api/projects/{projectId}/credential', {
    fails: ['CREDENTIAL_NOT_FOUND'],
    notFound: ofProject,
    audited: { target: 'project', detail: ['credentialId'] },
    who: manager(),
    summary: "Set the credential of a project's agents",
    input: Choose,
    output: Chosen,
    emits: ['project.updated'],
  }),
  chooseForCard: put('/api/projects/{projectId}/cards/{cardId}/credential', {
    fails: ['CREDENTIAL_NOT_FOUND'],
    notFound: ofCard,
    audited: { target: 'card', detail: ['credentialId'] },
    who: member(),
    summary: "Set the credential of a card's agent",
    input: Choose,
    output: Chosen,
    emits: ['card.updated'],
  }),
}
