import type { CredentialProvider } from '../../contract/accounts/credentials.ts'

/** A decrypted credential for an agent. */
export interface AgentCredential {
  id: number
  provider: CredentialProvider
  kind: 'api_key' | 'oauth'
  token: string
  baseUrl: string | null
  /** Headers that are sent with each request to the provider. */
  headers: Readonly<Record<string, string>>
  /** The models of the credential's endpoint, the default first. Empty if the agent has its own list. */
  models: readonly string[]
}

/** The environment variables in which an agent accepts a credential. */
export interface CredentialMapping {
  /** @param model the chosen model of the credential, or its first model; null if the credential lists none */
  env(credential: AgentCredential, model: string | null): Record<string, string>
  /** Extra arguments of the agent's command. */
  args?: readonly string[]
  /** Whether the agent can send headers. */
  headers?: boolean
  /** Whether the agent accepts a model name that it does not have in its own list. */
  model?: 'taken' | 'needed'
}

/** How an agent accepts credentials, by the credential's provider. */
export type CredentialMappings = Readonly<Partial<Record<CredentialProvider, CredentialMapping>>>

/** Why an agent cannot use a credential of a supported provider. Undefined if it can. */
export function credentialProblem(
  { name, credentials }: { name: string; credentials: CredentialMappings },
  { provider, headers, models }: Pick<AgentCredential, 'provider' | 'headers' | 'models'>,
): string | undefined {
  const mapping = credentials[provider]
  if (!mapping?.headers && Object.keys(headers).length > 0)
    return `${name} cannot send the headers of the credential. Choose another agent.`
  if (!mapping?.model && models.length > 0)
    return `${name} does not accept custom model names. Choose another agent for a credential that lists models.`
  if (mapping?.model === 'needed' && models.length === 0)
    return `${name} needs to know a model of the credential: board credentials edit <credential> --model <model>`
  return undefined
}

/** The variables that pass a key, the base URL and a model to an agent. */
interface Variables {
  key: string
  baseUrl?: string
  model?: string
  /** Other required variables. */
  rest?: Record<string, string>
}

/** A credential with one variable per field. */
export const keyVariables = ({ key, baseUrl, model, rest }: Variables): CredentialMapping => ({
  ...(model && { model: 'taken' }),
  env(credential, chosen) {
    const url = apiUrl(credential)
    return {
      [key]: credential.token,
      ...(baseUrl !== undefined && url !== null && { [baseUrl]: url }),
      ...(model !== undefined && chosen !== null && { [model]: chosen }),
      ...rest,
    }
  },
})

const version = /\/v\d+(beta)?$/
export const withoutVersion = (url: string) => url.replace(version, '')
const withVersion = (url: string, path: string) => (version.test(url) ? url : url + path)
/** The API address of each provider, and the version suffix of a client's base URL. */
const apis = {
  anthropic: { url: 'https://api.anthropic.com', path: '/v1' },
  openai: { url: 'https://api.openai.com', path: '/v1' },
  google: { url: 'https://generativelanguage.googleapis.com', path: '/v1beta' },
  openrouter: { url: 'https://openrouter.ai', path: '/api/v1' },
} as const

/** The base URL with its version, including for credentials without one. Null for providers that do not serve models. */
export function fullUrl({ provider, baseUrl }: Pick<AgentCredential, 'provider' | 'baseUrl'>): string | null {
  const url = baseUrl?.replace(/\/+$/, '') ?? null
  if (!Object.hasOwn(apis, provider)) return url
  const api = apis[provider as keyof typeof apis]
  return withVersion(url ?? api.url, api.path)
}

/** The base URL in the form that clients of OpenAI's API expect. Null if the credential has none and the client has a default. */
export const apiUrl = (credential: Pick<AgentCredential, 'provider' | 'baseUrl'>): string | null =>
  credential.baseUrl === null && credential.provider !== 'openrouter'
    ? null
    : credential.provider === 'anthropic' || credential.provider === 'google'
      ? withoutVersion(credential.baseUrl!.replace(/\/+$/, ''))
      : fullUrl(credential)

export const headerLines = (headers: AgentCredential['headers'], between: string) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join(between)
export const hasHeaders = ({ headers }: AgentCredential) => Object.keys(headers).length > 0
