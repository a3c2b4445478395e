import type { CredentialProvider } from '../../contract/accounts/credentials.ts'

/** The hosts of the models of a credential's provider, in addition to its base URL. */
export const providerHosts = {
  anthropic: ['api.anthropic.com'],
  openai: ['api.openai.com'],
  google: ['generativelanguage.googleapis.com'],
  github: ['api.github.com', '*.githubcopilot.com', 'copilot-proxy.githubusercontent.com'],
  openrouter: ['openrouter.ai'],
  gitlab: [],
  gitea: [],
  custom: [],
} as const satisfies Readonly<Record<CredentialProvider, readonly string[]>>

/** The hosts of agents that work with models of several providers. */
export const commonModelHosts: readonly string[] = ['anthropic', 'openai', 'google', 'openrouter'].flatMap(
  provider => providerHosts[provider as CredentialProvider],
)

const baseUrlVariable = /^(?:\w+_)?(?:BASE_URL|HOST|ENDPOINT)$/

/**
 * Lists the hosts of an agent's model, which the agent can reach without a setting of the project. With `canBePrivate`, the base URLs in
 * the agent's environment are returned as endpoints, which can be in the server's private network. Otherwise, the hosts of these URLs are
 * returned.
 */
export function listModelHosts(
  agent: { modelHosts: readonly string[] },
  credential: CredentialProvider | null,
  env: Readonly<Record<string, string>>,
  canBePrivate: boolean,
): { hosts: readonly string[]; endpoints: readonly string[] } {
  const known = credential === null ? agent.modelHosts : providerHosts[credential]
  const urls = Object.entries(env).flatMap(([name, value]) =>
    baseUrlVariable.test(name) && /^https?:/.test(value) ? [value] : [],
  )
  if (canBePrivate) return { hosts: known, endpoints: urls }
  return { hosts: [...known, ...urls.flatMap(url => (URL.canParse(url) ? new URL(url).host : []))], endpoints: [] }
}
