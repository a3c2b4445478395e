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

/** The hosts that an agent reaches without being listed: its model's. */
export const modelHosts = (agent: string, credential: CredentialProvider | null): readonly string[] =>
  credential === null ? (hostsOfAgent[agent] ?? []) : hostsOfCredential[credential]
