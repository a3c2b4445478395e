import type { Configuration, TokenEndpointResponse } from 'openid-client'
import type { Dispatcher } from 'undici'
import type { OauthClient } from '../config/oauthClients.ts'
import type { CredentialProvider } from '../contract/accounts/credentials.ts'
import { invalid, Problem } from '../contract/errors.ts'
import { sendOutbound } from '../egress/request.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
const timeoutSecs = 10
const minIntervalSecs = 1
const usualIntervalSecs = 5
const maxSecs = 3600
const maxTokenSecs = 10 * 365 * 86_400

/** The origin of tokens and their client: the public part of an authorization. */
export interface TokenSource {
  issuer: string
  tokenEndpoint: string
  clientId: string
}
export interface Tokens {
  accessToken: string
  refreshToken?: string
  expiresAt?: string
}
/** A provider's response to the start of a device authorization (RFC 8628, 3.2). */
export interface DeviceCode {
  source: TokenSource
  deviceCode: string
  userCode: string
  verificationUri: string
  expiresInSecs: number
  intervalSecs: number
}
export type PollResult = { tokens: Tokens } | 'pending' | 'slow_down' | 'failed' | 'expired'

/** The options of outgoing requests. Without a dispatcher any address is allowed. */
interface RequestOptions {
  signal?: AbortSignal
  dispatcher?: Dispatcher
}
interface Endpoints {
  issuer: string
  token_endpoint: string
  device_authorization_endpoint: string
  scope: string
}

/** Loaded on demand. */
const load = () => import('openid-client')

/** @throws Problem VALIDATION_FAILED for a provider with API keys only */
export function requireDeviceAuthorization(provider: CredentialProvider): void {
  if (provider !== 'github' && provider !== 'google' && provider !== 'custom')
    throw invalid('provider', `${provider} has no device authorization. Add an API key instead`)
}

/**
 * Requests a device code.
 * @throws Problem VALIDATION_FAILED if the server at `baseUrl` has no device authorization, or rejects the client;
 * PROVIDER_UNAVAILABLE
 */
export async function requestDeviceCode(
  provider: CredentialProvider,
  baseUrl: string | undefined,
  client: OauthClient,
  dispatcher?: Dispatcher,
): Promise<DeviceCode> {
  const { scope, ...server } = await endpointsOf(provider, baseUrl, client.clientId, dispatcher)
  const { initiateDeviceAuthorization } = await load()
  const source: TokenSource = { issuer: server.issuer, tokenEndpoint: server.token_endpoint, clientId: client.clientId }
  const configuration = await configure(server, client, { dispatcher })
  const code = await initiateDeviceAuthorization(configuration, { scope: client.scope ?? scope }).catch(error => {
    throw explainFailure(error, provider)
  })
  if (!/^https?:\/\//i.test(code.verification_uri) || !URL.canParse(code.verification_uri))
    throw invalid('provider', `${provider} did not return a page for the authorization`)
  return {
    source,
    deviceCode: code.device_code,
    userCode: code.user_code.slice(0, 100),
    verificationUri: new URL(code.verification_uri).href,
    expiresInSecs: Math.min(maxSecs, code.expires_in),
    intervalSecs: Math.min(maxSecs, Math.max(minIntervalSecs, code.interval ?? usualIntervalSecs)),
  }
}

/** Polls once. Failures of the network and of the provider count as pending, because the next poll can succeed. */
export async function pollDeviceCode({
  source,
  clientSecret,
  deviceCode,
  now,
  ...options
}: {
  source: TokenSource
  clientSecret?: string
  deviceCode: string
  now: Date
} & RequestOptions): Promise<PollResult> {
  const { ClientError, genericGrantRequest, ResponseBodyError } = await load()
  try {
    return {
      tokens: tokensOf(
        await genericGrantRequest(await configureSource(source, clientSecret, options), grantType, {
          device_code: deviceCode,
        }),
        now,
      ),
    }
  } catch (error) {
    if (error instanceof ResponseBodyError) return outcomes[error.error] ?? 'failed'
    return error instanceof ClientError && isPassing(error.code) ? 'slow_down' : 'failed'
  }
}

const outcomes: Record<string, PollResult> = {
  authorization_pending: 'pending',
  slow_down: 'slow_down',
  expired_token: 'expired',
}
const isPassing = (code: string | undefined) =>
  code === undefined || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT' || code === 'OAUTH_RESPONSE_IS_NOT_CONFORM'

/** Exchanges a refresh token. Undefined if the provider refuses. */
export async function exchangeRefreshToken(
  source: TokenSource,
  clientSecret: string | undefined,
  refreshToken: string,
  now: Date,
  dispatcher?: Dispatcher,
): Promise<Tokens | undefined> {
  const { refreshTokenGrant } = await load()
  const response = await refreshTokenGrant(
    await configureSource(source, clientSecret, { dispatcher }),
    refreshToken,
  ).catch(() => undefined)
  return response && { refreshToken, ...tokensOf(response, now) }
}

const tokensOf = (
  { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresInSecs }: TokenEndpointResponse,
  now: Date,
): Tokens => ({
  accessToken,
  ...(refreshToken !== undefined && { refreshToken }),
  ...(expiresInSecs !== undefined && {
    expiresAt: new Date(now.getTime() + Math.min(expiresInSecs, maxTokenSecs) * 1000).toISOString(),
  }),
})

async function endpointsOf(
  provider: CredentialProvider,
  baseUrl: string | undefined,
  clientId: string,
  dispatcher?: Dispatcher,
): Promise<Endpoints> {
  if (provider === 'github') {
    const origin = new URL(baseUrl ?? 'https://github.com').origin.replace('://api.', '://')
    return {
      issuer: origin,
      token_endpoint: `${origin}/login/oauth/access_token`,
      device_authorization_endpoint: `${origin}/login/device/code`,
      scope: 'read:user',
    }
  }
  if (provider === 'google') {
    const origin = new URL(baseUrl ?? 'https://oauth2.googleapis.com').origin
    return {
      issuer: baseUrl === undefined ? 'https://accounts.google.com' : origin,
      token_endpoint: `${origin}/token`,
      device_authorization_endpoint: `${origin}/device/code`,
      scope: 'openid email',
    }
  }
  return discoverEndpoints(baseUrl, clientId, dispatcher)
}

async function discoverEndpoints(
  baseUrl: string | undefined,
  clientId: string,
  dispatcher?: Dispatcher,
): Promise<Endpoints> {
  if (baseUrl === undefined) throw invalid('baseUrl', 'is required for the provider custom')
  const client = await load()
  const options = {
    timeout: timeoutSecs,
    [client.customFetch]: fetcher({ dispatcher }),
    ...(isPlain(baseUrl) && { execute: [client.allowInsecureRequests] }),
  }
  const configuration = await client
    .discovery(new URL(baseUrl), clientId, undefined, undefined, options)
    .catch(error => {
      throw explainFailure(error, 'custom')
    })
  const {
    issuer,
    token_endpoint,
    device_authorization_endpoint,
    scopes_supported = [],
  } = configuration.serverMetadata()
  if (token_endpoint === undefined || device_authorization_endpoint === undefined)
    throw invalid('provider', 'custom has no device authorization at its baseUrl')
  return {
    issuer,
    token_endpoint,
    device_authorization_endpoint,
    scope: scopes_supported.includes('offline_access') ? 'openid offline_access' : 'openid',
  }
}

const configureSource = (
  { issuer, tokenEndpoint, clientId }: TokenSource,
  clientSecret: string | undefined,
  options: RequestOptions,
) => configure({ issuer, token_endpoint: tokenEndpoint }, { clientId, clientSecret }, options)

async function configure(
  server: { issuer: string; token_endpoint: string },
  { clientId, clientSecret }: OauthClient,
  options: RequestOptions,
): Promise<Configuration> {
  const client = await load()
  const configuration = new client.Configuration(
    server,
    clientId,
    undefined,
    clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret),
  )
  configuration.timeout = timeoutSecs
  configuration[client.customFetch] = fetcher(options)
  if (isPlain(server.issuer)) client.allowInsecureRequests(configuration)
  return configuration
}

/** Endpoints without TLS are allowed only if the server's own address has no TLS. */
const isPlain = (url: string) => new URL(url).protocol === 'http:'

/** Messages contain nothing of the request or of the response body, except the provider's error code. */
function explainFailure(error: unknown, provider: CredentialProvider): Problem {
  const { code, error: refusal } = error as { code?: string; error?: unknown }
  if (typeof refusal === 'string')
    return invalid('clientId', `is rejected by ${provider}${/^[\w .-]{1,60}$/.test(refusal) ? ` (${refusal})` : ''}`)
  if (code === undefined || code === 'OAUTH_TIMEOUT') return new Problem('PROVIDER_UNAVAILABLE')
  return invalid('provider', `${provider} does not respond like a server with device authorization`)
}

/** GitHub sends errors with status 200, and Google uses an older name for verification_uri. */
const fetcher =
  ({ signal, dispatcher }: RequestOptions) =>
  async (
    url: string,
    { method, headers, body }: { method: string; headers: Record<string, string>; body?: unknown },
  ): Promise<Response> => {
    const answer = await sendOutbound(
      url,
      {
        method: method === 'POST' ? 'POST' : 'GET',
        headers,
        body: body === undefined || body === null ? undefined : String(body),
        signal,
      },
      { dispatcher },
    )
    const json = parseObject(answer.text)
    const status = answer.status === 200 && typeof json?.error === 'string' ? 400 : answer.status
    if (json && json.verification_uri === undefined && json.verification_url !== undefined)
      json.verification_uri = json.verification_url
    return new Response(json ? JSON.stringify(json) : answer.text || null, {
      status,
      headers: contentHeaders(answer.headers),
    })
  }

const contentHeaders = (headers: Record<string, string>) =>
  Object.fromEntries(
    ['content-type', 'www-authenticate', 'retry-after'].flatMap(name =>
      headers[name] === undefined ? [] : [[name, headers[name]]],
    ),
  )

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
