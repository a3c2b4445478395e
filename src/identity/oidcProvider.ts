import type {
  ClientAuth,
  Configuration,
  CustomFetch,
  IDToken,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
  UserInfoResponse,
} from 'openid-client'
import { Problem } from '../contract/errors.ts'
import { otherIssuer, whyNoProvider, whyNoSignIn } from './oidcFailures.ts'
import { mayBeProvider, type OidcSettings } from './oidcSettings.ts'
import { sendOutbound } from '../egress/request.ts'

const timeoutSecs = 10
const scope = 'openid email profile'

/** The values that an answer of the provider must match. The verifier is sent to the provider only. */
export interface Binding {
  state: string
  nonce: string
  verifier: string
}
/** The provider's claims about a user. `isVerified` is undefined if the provider does not state whether the address is verified. */
export interface Claims {
  issuer: string
  subject: string
  email: string | undefined
  isVerified: boolean | undefined
  displayName: string | undefined
  groups: readonly string[]
}

/** An identity provider with its metadata. */
export interface Provider {
  issuer: string
  /** The URL that the browser is sent to. */
  request(redirectUri: string): Promise<{ url: string; binding: Binding }>
  /**
   * Exchanges the callback of the browser: the redirect URI with the provider's parameters.
   * @throws Problem OIDC_REFUSED, PROVIDER_UNAVAILABLE
   */
  claims(answer: URL, binding: Binding): Promise<Claims>
}

/** Loaded on demand. */
const load = () => import('openid-client')

/**
 * Reads a provider's metadata (OpenID Connect Discovery 1.0) within 10 seconds.
 * @throws Problem OIDC_REFUSED, PROVIDER_UNAVAILABLE
 */
export async function discoverProvider(
  { issuerUrl, clientId, groupsClaim, allowedGroups }: OidcSettings,
  clientSecret: string,
): Promise<Provider> {
  const client = await load()
  const url = new URL(issuerUrl)
  const authenticate: ClientAuth = (server, ...rest) =>
    (server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') === false
      ? client.ClientSecretPost
      : client.ClientSecretBasic)(clientSecret)(server, ...rest)
  const execute = [
    client.enableNonRepudiationChecks,
    ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : []),
  ]
  const configuration = await client
    .discovery(url, clientId, undefined, authenticate, {
      timeout: timeoutSecs,
      [client.customFetch]: fetchOutside,
      execute,
    })
    .catch(error => {
      throw whyNoProvider(error, issuerUrl)
    })
  const { issuer, authorization_endpoint, token_endpoint, jwks_uri } = configuration.serverMetadata()
  if (issuer !== issuerUrl) throw otherIssuer(issuer, issuerUrl)
  // Request the groups only if they are needed: some providers refuse unknown scopes.
  const wanted = allowedGroups.length > 0 ? groupsClaim : undefined
  if (!authorization_endpoint || !token_endpoint || !jwks_uri)
    throw new Problem('OIDC_REFUSED', 'The identity provider does not publish sign-in endpoints.')
  return {
    issuer,
    request: redirectUri => request(configuration, redirectUri, wanted),
    claims: (answer, binding) =>
      claims(configuration, answer, binding, wanted).catch(error => {
        throw whyNoSignIn(error)
      }),
  }
}

async function request(
  configuration: Configuration,
  redirectUri: string,
  groupsClaim: string | undefined,
): Promise<{ url: string; binding: Binding }> {
  const client = await load()
  const binding = {
    state: client.randomState(),
    nonce: client.randomNonce(),
    verifier: client.randomPKCECodeVerifier(),
  }
  const hasScope =
    groupsClaim !== undefined && configuration.serverMetadata().scopes_supported?.includes(groupsClaim) === true
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: hasScope ? `${scope} ${groupsClaim}` : scope,
    state: binding.state,
    nonce: binding.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(binding.verifier),
    code_challenge_method: 'S256',
  })
  return { url: url.href, binding }
}

async function claims(
  configuration: Configuration,
  answer: URL,
  { state, nonce, verifier }: Binding,
  groupsClaim: string | undefined,
): Promise<Claims> {
  const { authorizationCodeGrant } = await load()
  const tokens = await authorizationCodeGrant(configuration, answer, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  })
  const idToken = tokens.claims()!
  const { iss: issuer, sub: subject } = idToken
  const told = await profile(configuration, tokens, groupsClaim)
  const { email, email_verified, name } = told
  return {
    issuer,
    subject,
    email: typeof email === 'string' ? email : undefined,
    isVerified: readFlag(email_verified),
    displayName: typeof name === 'string' ? name : undefined,
    groups: groupsClaim === undefined ? [] : namesOf(told[groupsClaim] ?? idToken[groupsClaim]),
  }
}

/** Some providers send the flag as text. Any other value counts as false. */
const readFlag = (value: unknown): boolean | undefined =>
  value === undefined || value === null ? undefined : value === true || value === 'true'

/** A list of groups, or the name of the only one. */
const namesOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === 'string')

/**
 * Some providers put the address into the ID token, others only into the userinfo response. `email_verified` is taken
 * from the same place.
 */
async function profile(
  configuration: Configuration,
  tokens: TokenEndpointResponse & TokenEndpointResponseHelpers,
  groupsClaim: string | undefined,
): Promise<IDToken | UserInfoResponse> {
  const idToken = tokens.claims()!
  if (
    (idToken.email !== undefined &&
      idToken.email_verified !== undefined &&
      (groupsClaim === undefined || idToken[groupsClaim] !== undefined)) ||
    !configuration.serverMetadata().userinfo_endpoint
  )
    return idToken
  const { fetchUserInfo } = await load()
  return fetchUserInfo(configuration, tokens.access_token, idToken.sub)
}

const fetchOutside: CustomFetch = async (url, { method, headers, body, signal }) => {
  if (!mayBeProvider(new URL(url))) throw new Error('An endpoint of the identity provider does not use TLS.')
  const {
    status,
    headers: { 'content-type': type },
    text,
  } = await sendOutbound(url, {
    method: method === 'POST' ? 'POST' : 'GET',
    headers,
    body: body ? String(body) : undefined,
    signal,
  })
  return new Response(text || null, { status, headers: type === undefined ? {} : { 'content-type': type } })
}
