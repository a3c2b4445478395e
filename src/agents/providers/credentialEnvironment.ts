import type { CredentialProvider } from '../../contract/credentials.ts'

/** A decrypted credential for an agent. */
export interface AgentCredential {
  id: number
  provider: CredentialProvider
  kind: 'api_key' | 'oauth'
  token: string
  baseUrl: string | null
}

/** How an agent takes a credential. */
export interface CredentialMapping {
  env(credential: AgentCredential): Record<string, string>
  /** Extra arguments of the agent's command. */
  args?: readonly string[]
}

/** How an agent takes credentials, by the credential's provider. */
export type CredentialMappings = Readonly<Partial<Record<CredentialProvider, CredentialMapping>>>

/** The key in one environment variable, and the base URL, if any, in another. */
export const keyVariables = (key: string, baseUrl?: string, rest: Record<string, string> = {}): CredentialMapping => ({
  env(credential) {
    const url = apiUrl(credential)
    return { [key]: credential.token, ...(baseUrl !== undefined && url !== null && { [baseUrl]: url }), ...rest }
  },
})

/** The base URL as clients expect it. The board stores OpenAI's without the version. */
function apiUrl({ provider, baseUrl }: Pick<AgentCredential, 'provider' | 'baseUrl'>): string | null {
  const url = baseUrl?.replace(/\/+$/, '') ?? null
  if (provider === 'openrouter') return `${url ?? 'https://openrouter.ai'}/api/v1`
  if (provider === 'openai' && url !== null) return /\/v\d+$/.test(url) ? url : `${url}/v1`
  return url
}

/** An API key, a token of `claude setup-token` and an OAuth token each have their own variable. */
export const anthropic: CredentialMapping = {
  env: credential =>
    keyVariables(
      credential.token.startsWith('sk-ant-oat')
        ? 'CLAUDE_CODE_OAUTH_TOKEN'
        : credential.kind === 'oauth'
          ? 'ANTHROPIC_AUTH_TOKEN'
          : 'ANTHROPIC_API_KEY',
      'ANTHROPIC_BASE_URL',
    ).env(credential),
}

/** Codex takes a base URL only in its configuration, which its adapter reads from the environment. The key stays in its own variable. */
export const codex: CredentialMapping = {
  env(credential) {
    const url = apiUrl(credential)
    const config = {
      model_provider: 'board',
      model_providers: { board: { name: 'board', base_url: url, env_key: 'CODEX_API_KEY', wire_api: 'responses' } },
    }
    return { CODEX_API_KEY: credential.token, ...(url !== null && { CODEX_CONFIG: JSON.stringify(config) }) }
  },
}

/** Goose takes the host and the path of the base URL separately. */
export const gooseOpenai: CredentialMapping = {
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
