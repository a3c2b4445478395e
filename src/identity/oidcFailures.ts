import { Problem } from '../contract/errors.ts'
import { whyUnreachable } from '../egress/request.ts'

interface Thrown {
  name?: string
  code?: unknown
  error?: unknown
  cause?: { body?: { issuer?: unknown } }
}

/** Errors of openid-client about the answer's form, not its contents. */
const formErrors = ['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_PARSE_ERROR']

/** Why a provider's metadata could not be read. Contains nothing of the answer except the issuer's name. */
export function whyNoProvider(error: unknown, issuerUrl: string): Problem {
  const { code, cause } = error as Thrown
  const issuer = cause?.body?.issuer
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' && typeof issuer === 'string')
    return otherIssuer(issuer, issuerUrl)
  return networkProblem(error) ?? refusedSignIn(`There is no identity provider at ${issuerUrl}: check the issuer URL.`)
}

/** The issuer is compared as text (OpenID Connect Discovery 1.0, 4.3), so even a trailing slash must match. */
export const otherIssuer = (issuer: string, issuerUrl: string): Problem =>
  refusedSignIn(
    `The identity provider at ${issuerUrl} reports the issuer ${JSON.stringify(issuer.slice(0, 200))}. The issuer URL must be equal to it.`,
  )

/** Why a provider's answer was rejected. Contains nothing of the request or answer except the provider's error code. */
export function whyNoSignIn(error: unknown): Problem {
  const { name, error: refusal } = error as Thrown
  if (name === 'AuthorizationResponseError')
    return refusedSignIn(
      refusal === 'access_denied'
        ? 'The sign-in was cancelled, or the identity provider rejected it.'
        : 'The identity provider could not sign you in. Start again.',
    )
  if (refusal === 'invalid_client' || refusal === 'unauthorized_client')
    return refusedSignIn(
      'The identity provider rejects the client ID and secret of this server. A super_admin must set them again.',
    )
  if (typeof refusal === 'string')
    return refusedSignIn(
      `The identity provider rejected the sign-in${/^[a-z_]{1,40}$/.test(refusal) ? ` (${refusal})` : ''}. Start again.`,
    )
  return (
    networkProblem(error) ??
    refusedSignIn("The identity provider's answer does not belong to this sign-in. Start again.")
  )
}

/** Errors that a retry might fix. */
function networkProblem(error: unknown): Problem | undefined {
  const { name, code, cause } = error as Thrown
  if (code === 'OAUTH_TIMEOUT') return unavailable('it did not answer in time')
  if (typeof code === 'string' && formErrors.includes(code))
    return unavailable('its response is not from an identity provider')
  return name === 'ClientError' && code !== undefined ? undefined : unavailable(whyUnreachable(cause ?? error))
}

const refusedSignIn = (message: string) => new Problem('OIDC_REFUSED', message)
const unavailable = (why: string) =>
  new Problem('PROVIDER_UNAVAILABLE', `The identity provider cannot be reached: ${why}.`)
