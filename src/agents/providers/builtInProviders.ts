import { unaskedTools } from '../../contract/boardTools.ts'
import { boardServer } from '../acp/toolCalls.ts'
import { anthropic, codex, gooseOpenai, keyVariables, type CredentialMappings } from './credentialEnvironment.ts'

/** A kind of agent: how to start it, and how to pass it a credential. */
export interface AgentProvider {
  id: string
  name: string
  protocol: 'acp' | 'command'
  /** The program and its arguments. With the protocol `command` an argument may hold `{prompt}`. */
  command: readonly string[]
  /** How to install it: a command or an address, for people. */
  install: string | null
  credentials: CredentialMappings
  /** Environment variables that it always gets. */
  env: Readonly<Record<string, string>>
  /** Variables of the server's environment that it gets where no credential is chosen: its sign-in and settings. */
  account: readonly string[]
  /** Variables of the server's environment that it always gets. */
  pass: readonly string[]
  /** The initial files of its home folder, by relative path. Existing files stay. */
  homeFiles: Readonly<Record<string, string>>
  /** Ids of authentication methods that use its environment. */
  authMethods: readonly string[]
  /** Arguments that allow the board's tools that run no command, for agents whose permission requests do not name the tool. */
  toolArgs: readonly string[]
  /** Session modes, best first: for work in its own folder, and for planning without changes. */
  modes: { work: readonly string[]; plan: readonly string[] }
  model: string | null
  usageIsCumulative: boolean
}

const openaiAccount = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL']
const anthropicAccount = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_MODEL']
const googleAccount = [
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_GEMINI_BASE_URL',
  'GEMINI_MODEL',
  'GOOGLE_CLOUD_PROJECT',
  'GOOGLE_CLOUD_LOCATION',
  'GOOGLE_GENAI_USE_VERTEXAI',
  'GOOGLE_APPLICATION_CREDENTIALS',
]
const githubAccount = ['COPILOT_GITHUB_TOKEN', 'GH_TOKEN', 'GITHUB_TOKEN', 'GH_HOST']
/** No telemetry without consent, and no program that updates itself on a server. */
const qwenSettings = `${JSON.stringify({ privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } }, null, 2)}\n`
const plan = ['plan', 'https://agentclientprotocol.com/protocol/session-modes#plan', 'read-only', 'ask', 'chat']

type BuiltIn = Partial<AgentProvider> & Pick<AgentProvider, 'id' | 'name' | 'command' | 'credentials'>

/** A provider with the defaults that most agents share. */
export const defineProvider = (given: BuiltIn): AgentProvider => ({
  protocol: 'acp',
  install: null,
  env: {},
  account: [],
  pass: [],
  homeFiles: {},
  authMethods: [],
  toolArgs: [],
  model: null,
  usageIsCumulative: false,
  ...given,
  modes: { work: [], plan, ...given.modes },
})

/** The built-in agents. Where nothing else decides, the first installed one is chosen. */
export const builtIn: readonly AgentProvider[] = [
  defineProvider({
    id: 'claude',
    name: 'Claude Code',
    command: ['claude-agent-acp'],
    install: 'npm install -g @agentclientprotocol/claude-agent-acp',
    credentials: { anthropic },
    account: [
      ...anthropicAccount,
      'CLAUDE_CODE_OAUTH_TOKEN',
      'CLAUDE_CONFIG_DIR',
      'CLAUDE_CODE_EXECUTABLE',
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_VERTEX',
    ],
    env: { DISABLE_AUTOUPDATER: '1' },
    modes: { work: ['acceptEdits'], plan },
  }),
  defineProvider({
    id: 'codex',
    name: 'Codex',
    command: ['codex-acp'],
    install: 'npm install -g @agentclientprotocol/codex-acp',
    credentials: { openai: codex, custom: codex },
    account: ['CODEX_API_KEY', 'OPENAI_API_KEY', 'CODEX_HOME', 'CODEX_PATH', 'CODEX_CONFIG', 'MODEL_PROVIDER'],
    authMethods: ['api-key', 'codex-api-key', 'openai-api-key'],
    modes: { work: ['agent', 'workspace-write', 'auto'], plan: ['read-only'] },
  }),
  defineProvider({
    id: 'gemini',
    name: 'Gemini CLI',
    command: ['gemini', '--acp'],
    install: 'npm install -g @google/gemini-cli',
    credentials: { google: keyVariables('GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL') },
    account: googleAccount,
    authMethods: ['gemini-api-key'],
    modes: { work: ['autoEdit', 'auto_edit'], plan },
  }),
  defineProvider({
    id: 'copilot',
    name: 'GitHub Copilot CLI',
    command: ['copilot', '--acp'],
    install: 'npm install -g @github/copilot',
    credentials: { github: keyVariables('COPILOT_GITHUB_TOKEN') },
    account: [...githubAccount, 'COPILOT_HOME', 'COPILOT_MODEL'],
    env: { COPILOT_AUTO_UPDATE: 'false' },
  }),
  defineProvider({
    id: 'opencode',
    name: 'OpenCode',
    command: ['opencode', 'acp'],
    install: 'npm install -g opencode-ai',
    credentials: {
      anthropic: keyVariables('ANTHROPIC_API_KEY'),
      openai: keyVariables('OPENAI_API_KEY'),
      google: keyVariables('GOOGLE_GENERATIVE_AI_API_KEY'),
      openrouter: keyVariables('OPENROUTER_API_KEY'),
    },
    account: [
      'ANTHROPIC_API_KEY',
      'OPENAI_API_KEY',
      'GOOGLE_GENERATIVE_AI_API_KEY',
      'OPENROUTER_API_KEY',
      'OPENCODE_CONFIG',
      'OPENCODE_CONFIG_CONTENT',
    ],
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1' },
    modes: { work: ['build'], plan },
  }),
  defineProvider({
    id: 'qwen',
    name: 'Qwen Code',
    command: ['qwen', '--acp'],
    install: 'npm install -g @qwen-code/qwen-code',
    credentials: Object.fromEntries(
      (['openai', 'openrouter', 'custom'] as const).map(each => [
        each,
        { ...keyVariables('OPENAI_API_KEY', 'OPENAI_BASE_URL'), args: ['--auth-type', 'openai'] },
      ]),
    ),
    account: openaiAccount,
    pass: ['OPENAI_MODEL'],
    homeFiles: { '.qwen/settings.json': qwenSettings },
    authMethods: ['openai'],
    // Allowing the server by its name alone would allow all of its tools.
    toolArgs: [`--allowed-tools=${unaskedTools.map(name => `mcp__${boardServer}__${name}`).join(',')}`],
    modes: { work: ['auto-edit', 'auto_edit', 'autoEdit'], plan },
  }),
  defineProvider({
    id: 'goose',
    name: 'Goose',
    command: ['goose', 'acp'],
    install: 'https://block.github.io/goose/docs/getting-started/installation',
    credentials: {
      anthropic: keyVariables('ANTHROPIC_API_KEY', 'ANTHROPIC_HOST', { GOOSE_PROVIDER: 'anthropic' }),
      openai: gooseOpenai,
      custom: gooseOpenai,
      google: keyVariables('GOOGLE_API_KEY', undefined, { GOOSE_PROVIDER: 'google' }),
      openrouter: keyVariables('OPENROUTER_API_KEY', undefined, { GOOSE_PROVIDER: 'openrouter' }),
    },
    account: [
      'GOOSE_PROVIDER',
      'ANTHROPIC_API_KEY',
      'OPENAI_API_KEY',
      'OPENAI_HOST',
      'OPENAI_BASE_PATH',
      'GOOGLE_API_KEY',
      'OPENROUTER_API_KEY',
    ],
    pass: ['GOOSE_MODEL'],
    modes: { work: ['smart_approve', 'auto'], plan },
  }),
  defineProvider({
    id: 'cursor',
    name: 'Cursor',
    command: ['agent', 'acp'],
    install: 'https://cursor.com/docs/cli/installation',
    credentials: {},
    account: ['CURSOR_API_KEY'],
    authMethods: ['cursor_login'],
    modes: { work: ['agent'], plan },
  }),
]
