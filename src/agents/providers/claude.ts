import { defineProvider } from './agentProvider.ts'
import { hasHeaders, headerLines, keyVariables, type CredentialMapping } from './credentialEnvironment.ts'
import { providerHosts } from './modelHosts.ts'

/** An API key, a token of `claude setup-token` and an OAuth token each have their own variable. */
const credential: CredentialMapping = {
  headers: true,
  model: 'taken',
  env(given, model) {
    const { token, kind } = given
    const key = token.startsWith('sk-ant-oat')
      ? 'CLAUDE_CODE_OAUTH_TOKEN'
      : kind === 'oauth'
        ? 'ANTHROPIC_AUTH_TOKEN'
        : 'ANTHROPIC_API_KEY'
    return {
      ...keyVariables({ key, baseUrl: 'ANTHROPIC_BASE_URL' }).env(given, model),
      ...(hasHeaders(given) && { ANTHROPIC_CUSTOM_HEADERS: headerLines(given.headers, '\n') }),
      // Claude Code uses a small model for titles and similar tasks, but a custom endpoint can have only one model.
      ...(model !== null && { ANTHROPIC_MODEL: model, ANTHROPIC_SMALL_FAST_MODEL: given.models.at(-1)! }),
    }
  },
}

export const claude = defineProvider({
  id: 'claude',
  name: 'Claude Code',
  command: ['claude-agent-acp'],
  install: 'npm install -g @agentclientprotocol/claude-agent-acp',
  modelHosts: [...providerHosts.anthropic, 'console.anthropic.com', 'platform.claude.com', 'claude.ai'],
  tried: '0.49.0',
  credentials: { anthropic: credential },
  account: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'ANTHROPIC_BASE_URL',
    'ANTHROPIC_MODEL',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'CLAUDE_CONFIG_DIR',
    'CLAUDE_CODE_EXECUTABLE',
    'CLAUDE_CODE_USE_BEDROCK',
    'CLAUDE_CODE_USE_VERTEX',
  ],
  env: { DISABLE_AUTOUPDATER: '1' },
  modes: { work: ['acceptEdits'] },
  state: ['.claude', '.claude.json'],
  conversations: [
    '.claude/projects',
    '.claude/file-history',
    '.claude/todos',
    '.claude/tasks',
    '.claude/plans',
    '.claude/paste-cache',
    '.claude/debug',
  ],
  telemetryOff: { env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' } },
})
