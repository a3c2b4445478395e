import type { CredentialProvider } from '../../contract/credentials.ts'

/** A credential with its secret, as an agent is to get it. */
export interface AgentCredential {
  id: number
  provider: CredentialProvider
  kind: 'api_key' | 'oauth'
  token: string
  baseUrl: string | null
}

/** How a credential reaches an agent: these environment variables and no other. */
export interface CredentialWay {
  env(credential: AgentCredential): Record<string, string>
  /** Arguments that the agent needs to use it. */
  args?: readonly string[]
}

/** The ways of a provider's credentials, by the credential's provider. */
export type CredentialWays = Readonly<Partial<Record<CredentialProvider, CredentialWay>>>

/** A key in one variable, and where another server than the usual one is named. */
export const keyIn = (key: string, baseUrl?: string, rest: Record<string, string> = {}): CredentialWay => ({
  env(credential) {
    const url = apiUrl(credential)
    return { [key]: credential.token, ...(baseUrl !== undefined && url !== null && { [baseUrl]: url }), ...rest }
  },
})

/** What an address means differs: OpenAI's is kept without the version that its clients want in it. */
export function apiUrl({ provider, baseUrl }: Pick<AgentCredential, 'provider' | 'baseUrl'>): string | null {
  const url = baseUrl?.replace(/\/+$/, '') ?? null
  if (provider === 'openrouter') return `${url ?? 'https://openrouter.ai'}/api/v1`
  if (provider === 'openai' && url !== null) return /\/v\d+$/.test(url) ? url : `${url}/v1`
  return url
}

/** Anthropic takes a key, a token of `claude setup-token`, or the token of an authorization, each by its own name. */
export const anthropic: CredentialWay = {
  env: credential =>
    keyIn(
      credential.token.startsWith('sk-ant-oat')
        ? 'CLAUDE_CODE_OAUTH_TOKEN'
        : credential.kind === 'oauth'
          ? 'ANTHROPIC_AUTH_TOKEN'
          : 'ANTHROPIC_API_KEY',
      'ANTHROPIC_BASE_URL',
    ).env(credential),
}

/** Codex knows other servers by its configuration only, which its adapter takes from the environment. The key stays in a variable of its own. */
export const codex: CredentialWay = {
  env(credential) {
    const url = apiUrl(credential)
    const elsewhere = {
      model_provider: 'board',
      model_providers: { board: { name: 'board', base_url: url, env_key: 'CODEX_API_KEY', wire_api: 'responses' } },
    }
    return { CODEX_API_KEY: credential.token, ...(url !== null && { CODEX_CONFIG: JSON.stringify(elsewhere) }) }
  },
}

/** Goose wants the host and the path apart. */
export const gooseOpenai: CredentialWay = {
  env(credential) {
    const url = apiUrl(credential)
    const parts = url === null ? undefined : new URL(url)
    return {
      GOOSE_PROVIDER: 'openai',
      OPENAI_API_KEY: credential.token,
      ...(parts && {
        OPENAI_HOST: parts.origin,
        OPENAI_BASE_PATH: `${parts.pathname.replace(/^\/|\/$/g, '')}/chat/completions`.replace(/^\//, ''),
      }),
    }
  },
}
