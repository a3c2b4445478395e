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

/** How an agent accepts a credential. */
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
const withoutVersion = (url: string) => url.replace(version, '')
const withVersion = (url: string, path: string) => (version.test(url) ? url : url + path)
/** The API address of each provider, and the version suffix of a client's base URL. */
const apis = {
  anthropic: { url: 'https://api.anthropic.com', path: '/v1' },
  openai: { url: 'https://api.openai.com', path: '/v1' },
  google: { url: 'https://generativelanguage.googleapis.com', path: '/v1beta' },
  openrouter: { url: 'https://openrouter.ai', path: '/api/v1' },
} as const

/** The base URL with its version, including for credentials without one. Null for providers that do not serve models. */
function fullUrl({ provider, baseUrl }: Pick<AgentCredential, 'provider' | 'baseUrl'>): string | null {
  const url = baseUrl?.replace(/\/+$/, '') ?? null
  if (!Object.hasOwn(apis, provider)) return url
  const api = apis[provider as keyof typeof apis]
  return withVersion(url ?? api.url, api.path)
}

/** The base URL in the form that clients of OpenAI's API expect. Null if the credential has none and the client has a default. */
const apiUrl = (credential: Pick<AgentCredential, 'provider' | 'baseUrl'>): string | null =>
  credential.baseUrl === null && credential.provider !== 'openrouter'
    ? null
    : credential.provider === 'anthropic' || credential.provider === 'google'
      ? withoutVersion(credential.baseUrl!.replace(/\/+$/, ''))
      : fullUrl(credential)

const headerLines = (headers: AgentCredential['headers'], between: string) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join(between)
const hasHeaders = ({ headers }: AgentCredential) => Object.keys(headers).length > 0

/** An API key, a token of `claude setup-token` and an OAuth token each have their own variable. */
export const claude: CredentialMapping = {
  headers: true,
  model: 'taken',
  env(credential, model) {
    const { token, kind } = credential
    const key = token.startsWith('sk-ant-oat')
      ? 'CLAUDE_CODE_OAUTH_TOKEN'
      : kind === 'oauth'
        ? 'ANTHROPIC_AUTH_TOKEN'
        : 'ANTHROPIC_API_KEY'
    return {
      ...keyVariables({ key, baseUrl: 'ANTHROPIC_BASE_URL' }).env(credential, model),
      ...(hasHeaders(credential) && { ANTHROPIC_CUSTOM_HEADERS: headerLines(credential.headers, '\n') }),
      // Claude Code uses a small model for titles and similar tasks, but a custom endpoint can have only one model.
      ...(model !== null && { ANTHROPIC_MODEL: model, ANTHROPIC_SMALL_FAST_MODEL: credential.models.at(-1)! }),
    }
  },
}

/** Codex accepts everything except the key in its configuration, which its adapter reads from the environment. */
export const codex: CredentialMapping = {
  headers: true,
  model: 'taken',
  env(credential, model) {
    const { token, baseUrl, headers } = credential
    const provider = {
      name: 'board',
      base_url: fullUrl(credential),
      env_key: 'CODEX_API_KEY',
      wire_api: 'responses',
      ...(hasHeaders(credential) && { http_headers: headers }),
    }
    const config = {
      ...(model !== null && { model }),
      ...((baseUrl !== null || hasHeaders(credential)) && {
        model_provider: 'board',
        model_providers: { board: provider },
      }),
    }
    return { CODEX_API_KEY: token, ...(Object.keys(config).length > 0 && { CODEX_CONFIG: JSON.stringify(config) }) }
  },
}

export const gemini: CredentialMapping = {
  headers: true,
  model: 'taken',
  env: (credential, model) => ({
    ...keyVariables({ key: 'GEMINI_API_KEY', baseUrl: 'GOOGLE_GEMINI_BASE_URL', model: 'GEMINI_MODEL' }).env(
      credential,
      model,
    ),
    ...(hasHeaders(credential) && { GEMINI_CLI_CUSTOM_HEADERS: headerLines(credential.headers, ', ') }),
  }),
}

/** Copilot with a custom model provider, for which it has no default model. */
export const copilotOwnProvider = (type: 'openai' | 'anthropic'): CredentialMapping => ({
  headers: true,
  model: 'needed',
  env: (credential, model) => ({
    COPILOT_PROVIDER_TYPE: type,
    COPILOT_PROVIDER_BASE_URL: type === 'anthropic' ? withoutVersion(fullUrl(credential)!) : fullUrl(credential)!,
    [credential.kind === 'oauth' ? 'COPILOT_PROVIDER_BEARER_TOKEN' : 'COPILOT_PROVIDER_API_KEY']: credential.token,
    ...(hasHeaders(credential) && { COPILOT_PROVIDER_HEADERS: headerLines(credential.headers, '\n') }),
    ...(model !== null && { COPILOT_MODEL: model }),
  }),
})

/**
 * OpenCode accepts everything in its configuration. Only the credential's provider is enabled, because OpenCode can otherwise
 * choose a model of another provider, including a third party's.
 * @param id the provider's name in OpenCode; null for a custom endpoint, which requires an explicit model
 */
export const opencode = (id: string | null): CredentialMapping => ({
  headers: true,
  model: id === null ? 'needed' : 'taken',
  env(credential, model) {
    const name = id ?? 'board'
    const provider = {
      ...(id === null && { npm: '@ai-sdk/openai-compatible', name: 'board' }),
      options: {
        apiKey: '{env:OPENCODE_API_KEY}',
        ...(credential.baseUrl !== null && { baseURL: fullUrl(credential) }),
        ...(hasHeaders(credential) && { headers: credential.headers }),
      },
      ...(credential.models.length > 0 && {
        models: Object.fromEntries(credential.models.map(each => [each, { name: each }])),
      }),
    }
    const config = {
      enabled_providers: [name],
      provider: { [name]: provider },
      ...(model !== null && { model: `${name}/${model}`, small_model: `${name}/${credential.models.at(-1)}` }),
      share: 'disabled',
    }
    return { OPENCODE_API_KEY: credential.token, OPENCODE_CONFIG_CONTENT: JSON.stringify(config) }
  },
})

export const qwen: CredentialMapping = {
  ...keyVariables({ key: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL', model: 'OPENAI_MODEL' }),
  args: ['--auth-type', 'openai'],
}

/** Goose accepts the host and the path of the base URL separately. */
export const gooseOpenai: CredentialMapping = {
  model: 'taken',
  env(credential, model) {
    const url = apiUrl(credential)
    const parts = url === null ? undefined : new URL(url)
    return {
      GOOSE_PROVIDER: 'openai',
      OPENAI_API_KEY: credential.token,
      ...(model !== null && { GOOSE_MODEL: model }),
      ...(parts && {
        OPENAI_HOST: parts.origin,
        OPENAI_BASE_PATH: `${parts.pathname.replace(/^\/|\/$/g, '')}/chat/completions`.replace(/^\//, ''),
      }),
    }
  },
}
export const goose = (provider: string, key: string, baseUrl?: string): CredentialMapping =>
  keyVariables({ key, baseUrl, model: 'GOOSE_MODEL', rest: { GOOSE_PROVIDER: provider } })
