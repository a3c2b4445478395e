import { unaskedTools } from '../../contract/boardTools.ts'
import { anthropic, codex, gooseOpenai, keyIn, type CredentialWays } from './credentialEnvironment.ts'
import { boardServer } from '../acp/toolCalls.ts'

/** A kind of agent: how it is started, and how a credential reaches it. */
export interface AgentProvider {
  id: string
  name: string
  protocol: 'acp' | 'command'
  /** The program and its arguments; with `command` one of them may hold `{prompt}`. */
  command: readonly string[]
  /** A line that tells a person how to get it. */
  install: string | null
  credentials: CredentialWays
  /** Variables of its own, whoever it works for. */
  env: Readonly<Record<string, string>>
  /** Variables of the server's account that it may see: those by which it is signed in and set up, where no credential is chosen. */
  account: readonly string[]
  /** Variables of the server's account that it may see always. */
  pass: readonly string[]
  /** Files that a home of its own begins with, by their places in it. What is there already stays. */
  homeFiles: Readonly<Record<string, string>>
  /** Ways to sign in that use what its environment holds. */
  authMethods: readonly string[]
  /** Arguments by which it uses the board's tools that run no command without asking a person, where its questions do not tell that they are about those. */
  toolArgs: readonly string[]
  /** Session modes, best first: to work in a folder of its own, and to plan without changing anything. */
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
/** On a server nobody has agreed to send figures of their work to anybody, and nobody wants a program that changes by itself. */
const qwenSettings = `${JSON.stringify({ privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } }, null, 2)}\n`
const plan = ['plan', 'https://agentclientprotocol.com/protocol/session-modes#plan', 'read-only', 'ask', 'chat']

type BuiltIn = Partial<AgentProvider> & Pick<AgentProvider, 'id' | 'name' | 'command' | 'credentials'>

/** Fills in what most agents have in common. */
export const provider = (given: BuiltIn): AgentProvider => ({
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

/** The agents that the board knows by itself, in the order in which one is chosen where nothing else decides (DESIGN "Agents"). */
export const builtIn: readonly AgentProvider[] = [
  provider({
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
  provider({
    id: 'codex',
    name: 'Codex',
    command: ['codex-acp'],
    install: 'npm install -g @agentclientprotocol/codex-acp',
    credentials: { openai: codex, custom: codex },
    account: ['CODEX_API_KEY', 'OPENAI_API_KEY', 'CODEX_HOME', 'CODEX_PATH', 'CODEX_CONFIG', 'MODEL_PROVIDER'],
    authMethods: ['api-key', 'codex-api-key', 'openai-api-key'],
    modes: { work: ['agent', 'workspace-write', 'auto'], plan: ['read-only'] },
  }),
  provider({
    id: 'gemini',
    name: 'Gemini CLI',
    command: ['gemini', '--acp'],
    install: 'npm install -g @google/gemini-cli',
    credentials: { google: keyIn('GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL') },
    account: googleAccount,
    authMethods: ['gemini-api-key'],
    modes: { work: ['autoEdit', 'auto_edit'], plan },
  }),
  provider({
    id: 'copilot',
    name: 'GitHub Copilot CLI',
    command: ['copilot', '--acp'],
    install: 'npm install -g @github/copilot',
    credentials: { github: keyIn('COPILOT_GITHUB_TOKEN') },
    account: [...githubAccount, 'COPILOT_HOME', 'COPILOT_MODEL'],
    env: { COPILOT_AUTO_UPDATE: 'false' },
  }),
  provider({
    id: 'opencode',
    name: 'OpenCode',
    command: ['opencode', 'acp'],
    install: 'npm install -g opencode-ai',
    credentials: {
      anthropic: keyIn('ANTHROPIC_API_KEY'),
      openai: keyIn('OPENAI_API_KEY'),
      google: keyIn('GOOGLE_GENERATIVE_AI_API_KEY'),
      openrouter: keyIn('OPENROUTER_API_KEY'),
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
  provider({
    id: 'qwen',
    name: 'Qwen Code',
    command: ['qwen', '--acp'],
    install: 'npm install -g @qwen-code/qwen-code',
    credentials: Object.fromEntries(
      (['openai', 'openrouter', 'custom'] as const).map(each => [
        each,
        { ...keyIn('OPENAI_API_KEY', 'OPENAI_BASE_URL'), args: ['--auth-type', 'openai'] },
      ]),
    ),
    account: openaiAccount,
    pass: ['OPENAI_MODEL'],
    homeFiles: { '.qwen/settings.json': qwenSettings },
    authMethods: ['openai'],
    // The server's name alone would allow all of its tools.
    toolArgs: [`--allowed-tools=${unaskedTools.map(name => `mcp__${boardServer}__${name}`).join(',')}`],
    modes: { work: ['auto-edit', 'auto_edit', 'autoEdit'], plan },
  }),
  provider({
    id: 'goose',
    name: 'Goose',
    command: ['goose', 'acp'],
    install: 'https://block.github.io/goose/docs/getting-started/installation',
    credentials: {
      anthropic: keyIn('ANTHROPIC_API_KEY', 'ANTHROPIC_HOST', { GOOSE_PROVIDER: 'anthropic' }),
      openai: gooseOpenai,
      custom: gooseOpenai,
      google: keyIn('GOOGLE_API_KEY', undefined, { GOOSE_PROVIDER: 'google' }),
      openrouter: keyIn('OPENROUTER_API_KEY', undefined, { GOOSE_PROVIDER: 'openrouter' }),
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
  provider({
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
