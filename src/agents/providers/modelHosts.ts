import type { CredentialProvider } from '../../contract/accounts/credentials.ts'

const anthropic = ['api.anthropic.com']
const openai = ['api.openai.com']
const google = ['generativelanguage.googleapis.com']
const github = ['api.github.com', '*.githubcopilot.com', 'copilot-proxy.githubusercontent.com']
const openrouter = ['openrouter.ai']

/** Where the models of a credential's provider are, if its base URL does not say. */
const hostsOfCredential: Readonly<Record<CredentialProvider, readonly string[]>> = {
  anthropic,
  openai,
  google,
  github,
  openrouter,
  gitlab: [],
  gitea: [],
  custom: [],
}

/** Where an agent finds its model, and signs in again, as the account has it. */
const hostsOfAgent: Readonly<Record<string, readonly string[]>> = {
  claude: [...anthropic, 'console.anthropic.com', 'platform.claude.com', 'claude.ai'],
  codex: [...openai, 'chatgpt.com', 'auth.openai.com'],
  gemini: [...google, 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com', 'accounts.google.com'],
  copilot: [...github, 'github.com'],
  opencode: [...anthropic, ...openai, ...google, ...openrouter],
  qwen: [...openai, 'dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'portal.qwen.ai', 'chat.qwen.ai'],
  goose: [...anthropic, ...openai, ...google, ...openrouter],
  cursor: ['*.cursor.sh', '*.cursor.com'],
}

const baseUrlVariable = /^(?:\w+_)?(?:BASE_URL|HOST|ENDPOINT)$/

/**
 * Lists the hosts of an agent's model, which it can reach without a setting of the project. The base URLs in its environment are
 * endpoints if they can be in the server's network, as without a sandbox; otherwise their hosts are listed.
 */
export function listModelHosts(
  agent: string,
  credential: CredentialProvider | null,
  env: Readonly<Record<string, string>>,
  canBePrivate: boolean,
): { hosts: readonly string[]; endpoints: readonly string[] } {
  const known = credential === null ? (hostsOfAgent[agent] ?? []) : hostsOfCredential[credential]
  const urls = Object.entries(env).flatMap(([name, value]) =>
    baseUrlVariable.test(name) && /^https?:/.test(value) ? [value] : [],
  )
  if (canBePrivate) return { hosts: known, endpoints: urls }
  return { hosts: [...known, ...urls.flatMap(url => (URL.canParse(url) ? new URL(url).host : []))], endpoints: [] }
}
