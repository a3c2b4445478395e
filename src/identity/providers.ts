import type { Dispatcher } from 'undici'
import { invalid } from '../contract/errors.ts'
import type { CredentialProvider } from '../contract/accounts/credentials.ts'
import type { CredentialRow } from '../store/accounts/credentials.ts'
import { sendOutbound, whyUnreachable } from '../egress/request.ts'

/** A secret in the form that providers accept: an API key, or the access token of an authorization. */
export interface Secret {
  kind: CredentialRow['kind']
  token: string
}
export interface Verdict {
  valid: boolean
  detail: string | null
}

interface Provider {
  /** The default address of its API. */
  baseUrl?: string
  /** A free endpoint that responds only to valid keys. */
  path: string
  headers(apiKey: string): Record<string, string>
  /** The statuses that mean an invalid key, in addition to 401 and 403. */
  refusals?: readonly number[]
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const providers: Record<CredentialProvider, Provider> = {
  anthropic: {
    baseUrl: 'https://api.anthropic.com',
    path: '/v1/models',
    headers: apiKey => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
  },
  openai: { baseUrl: 'https://api.openai.com', path: '/v1/models', headers: bearer },
  google: {
    baseUrl: 'https://generativelanguage.googleapis.com',
    path: '/v1beta/models',
    headers: apiKey => ({ 'x-goog-api-key': apiKey }),
    refusals: [400],
  },
  openrouter: { baseUrl: 'https://openrouter.ai', path: '/api/v1/key', headers: bearer },
  github: { baseUrl: 'https://api.github.com', path: '/user', headers: bearer },
  gitlab: { baseUrl: 'https://gitlab.com', path: '/api/v4/user', headers: bearer },
  gitea: { path: '/api/v1/user', headers: bearer },
  custom: { path: '/models', headers: bearer },
}

/** The API address for a credential. @throws Problem VALIDATION_FAILED if neither the provider nor the credential has one */
export function baseUrlOf({ provider, baseUrl }: Pick<CredentialRow, 'provider' | 'baseUrl'>): string {
  const found = baseUrl ?? providers[provider].baseUrl
  if (found === undefined) throw invalid('baseUrl', `is required for the provider ${provider}`)
  return found.replace(/\/+$/, '')
}

/** Checks a secret with its provider. An unreachable provider is also a result. */
export async function verifySecret(
  credential: Pick<CredentialRow, 'provider' | 'baseUrl'>,
  { kind, token }: Secret,
  extra: Readonly<Record<string, string>>,
  dispatcher?: Dispatcher,
): Promise<Verdict> {
  const { path, headers, refusals = [] } = providers[credential.provider]
  try {
    const {
      status,
      headers: { 'content-type': type = '' },
    } = await sendOutbound(
      addressOf(baseUrlOf(credential), path),
      { headers: { ...(kind === 'oauth' ? bearer(token) : headers(token)), ...extra } },
      { dispatcher },
    )
    if (status >= 200 && status < 300)
      return /^application\/([\w.-]+\+)?json\b/i.test(type)
        ? { valid: true, detail: null }
        : invalidSecret('The response is not from an API. Check the base URL.')
    if (status === 401 || status === 403 || refusals.includes(status))
      return invalidSecret(`The provider refuses the key (status ${status}).`)
    if (status >= 300 && status < 400)
      return invalidSecret(
        `The provider answered with a redirect (status ${status}), which is not followed. Check the base URL.`,
      )
    return invalidSecret(`The provider answered with status ${status}, so the key could not be verified.`)
  } catch (error) {
    return invalidSecret(`The provider could not be reached: ${whyUnreachable(error)}.`)
  }
}

/** Joins a base URL and a path. The base URL can end with the version that the path begins with. */
function addressOf(baseUrl: string, path: string): string {
  const [, version = ''] = /^(\/(?:api\/)?v\d+(?:beta)?)\//.exec(path) ?? []
  return version !== '' && baseUrl.endsWith(version) ? baseUrl.slice(0, -version.length) + path : baseUrl + path
}

const invalidSecret = (detail: string): Verdict => ({ valid: false, detail })
