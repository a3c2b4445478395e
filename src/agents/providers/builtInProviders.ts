import { unaskedTools } from '../../contract/agents/boardTools.ts'
import { boardServer } from '../acp/toolCalls.ts'
import type { FailedTurnRule, ToolNaming } from '../link/agentLink.ts'
import {
  claude,
  codex,
  copilotOwnProvider,
  gemini,
  goose,
  gooseOpenai,
  keyVariables,
  opencode,
  qwen,
  type CredentialMappings,
} from './credentialEnvironment.ts'
import {
  claudeTelemetryOff,
  codexTelemetryOff,
  geminiTelemetryOff,
  gooseTelemetryOff,
  opencodeTelemetryOff,
  qwenTelemetryOff,
  type TelemetryOff,
} from './telemetryOff.ts'
import { providerHosts } from './modelHosts.ts'
import { codexSandboxOverride, type SandboxOverride } from './sandboxOverride.ts'
import { codexFailedTurn, copilotFailedTurn } from './failedTurns.ts'

/** A kind of agent: how to start it, and how to pass it a credential. */
export interface AgentProvider {
  id: string
  name: string
  protocol: 'acp' | 'command'
  /** The program and its arguments. With the protocol `command`, an argument can contain `{prompt}`. */
  command: readonly string[]
  /** How to install the agent: a command or an address, for people. */
  install: string | null
  credentials: CredentialMappings
  /** Environment variables that the agent always gets. */
  env: Readonly<Record<string, string>>
  /** Variables of the server's environment that the agent gets if no credential is chosen: its sign-in and settings. */
  account: readonly string[]
  /** Variables of the server's environment that the agent always gets. */
  pass: readonly string[]
  /** Initial files of every home of a credential, by relative path. */
  homeFiles: Readonly<Record<string, string>>
  /**
   * Folders and files in the account's home that contain the agent's sign-in and state. The sandbox gives the agent access to
   * them.
   */
  state: readonly string[]
  /** Folders in `state` that contain only conversations. The sandbox replaces them with separate folders for each project. */
  conversations: readonly string[]
  /** Undefined for an agent that has no sandbox of its own. */
  sandboxOverride?: SandboxOverride
  /** Ids of authentication methods that use its environment. */
  authMethods: readonly string[]
  /** Arguments that allow the board's tools that run no command, for agents whose permission requests do not name the tool. */
  toolArgs: readonly string[]
  /** Where the agent names the tool in a permission request, if it does not use the protocol's own field. */
  toolNaming?: ToolNaming
  /** Session modes, best first: for work in the session's folder, and for planning without changes. */
  modes: { work: readonly string[]; plan: readonly string[] }
  model: string | null
  /** The hosts of the agent's model and sign-in without a credential, which the sandbox always allows. */
  modelHosts: readonly string[]
  /** The version that this board was tested with, as the agent reports it. `test/agents-real/package.json` has the packages. */
  tried: string | null
  usageIsCumulative: boolean
  /** Detects failed turns that the agent reported as successful. */
  failedTurn?: FailedTurnRule
  /** Undefined if the operator enabled telemetry, or if the agent has no known telemetry. */
  telemetryOff?: TelemetryOff
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
const copilotProvider = [
  'BASE_URL',
  'TYPE',
  'API_KEY',
  'BEARER_TOKEN',
  'HEADERS',
  'WIRE_API',
  'MODEL_ID',
  'WIRE_MODEL',
  'MAX_PROMPT_TOKENS',
  'MAX_OUTPUT_TOKENS',
].map(name => `COPILOT_PROVIDER_${name}`)
const { anthropic, openai, google, github, openrouter } = providerHosts
/** No telemetry without consent, and no automatic updates of the program on a server. */
const qwenSettings = `${JSON.stringify({ privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } }, null, 2)}\n`
const plan = ['plan', 'https://agentclientprotocol.com/protocol/session-modes#plan', 'read-only', 'ask', 'chat']

type BuiltIn = Partial<AgentProvider> & Pick<AgentProvider, 'id' | 'name' | 'command' | 'credentials'>

/** Returns a provider with the defaults that most agents share. */
export const defineProvider = (given: BuiltIn): AgentProvider => ({
  protocol: 'acp',
  install: null,
  env: {},
  account: [],
  pass: [],
  homeFiles: {},
  state: [],
  conversations: [],
  authMethods: [],
  toolArgs: [],
  model: null,
  modelHosts: [],
  tried: null,
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
    modelHosts: [...anthropic, 'console.anthropic.com', 'platform.claude.com', 'claude.ai'],
    tried: '0.49.0',
    credentials: { anthropic: claude },
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
    telemetryOff: claudeTelemetryOff,
  }),
  defineProvider({
    id: 'codex',
    name: 'Codex',
    command: ['codex-acp'],
    install: 'npm install -g @agentclientprotocol/codex-acp',
    modelHosts: [...openai, 'chatgpt.com', 'auth.openai.com'],
    tried: '2.6.0',
    credentials: { openai: codex, custom: codex },
    account: ['CODEX_API_KEY', 'OPENAI_API_KEY', 'CODEX_HOME', 'CODEX_PATH', 'CODEX_CONFIG', 'MODEL_PROVIDER'],
    authMethods: ['api-key', 'codex-api-key', 'openai-api-key'],
    // In the mode `agent`, a second model answers the questions instead of a user.
    modes: { work: ['workspace-write', 'agent', 'auto'], plan: ['read-only'] },
    state: ['.codex'],
    sandboxOverride: codexSandboxOverride,
    failedTurn: codexFailedTurn,
    telemetryOff: codexTelemetryOff,
  }),
  defineProvider({
    id: 'gemini',
    name: 'Gemini CLI',
    command: ['gemini', '--acp'],
    install: 'npm install -g @google/gemini-cli',
    modelHosts: [...google, 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com', 'accounts.google.com'],
    tried: '0.61.0',
    credentials: { google: gemini },
    account: googleAccount,
    authMethods: ['gemini-api-key'],
    // In a folder that the agent does not trust, it accepts only its default mode.
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    toolNaming: 'call_id',
    modes: { work: ['autoEdit', 'auto_edit'], plan },
    state: ['.gemini'],
    conversations: ['.gemini/tmp', '.gemini/history'],
    telemetryOff: geminiTelemetryOff,
  }),
  defineProvider({
    id: 'copilot',
    name: 'GitHub Copilot CLI',
    command: ['copilot', '--acp'],
    install: 'npm install -g @github/copilot',
    modelHosts: [...github, 'github.com'],
    tried: '1.0.102',
    credentials: {
      github: keyVariables({ key: 'COPILOT_GITHUB_TOKEN' }),
      anthropic: copilotOwnProvider('anthropic'),
      openai: copilotOwnProvider('openai'),
      openrouter: copilotOwnProvider('openai'),
      custom: copilotOwnProvider('openai'),
    },
    account: [...githubAccount, ...copilotProvider, 'COPILOT_HOME', 'COPILOT_MODEL'],
    env: { COPILOT_AUTO_UPDATE: 'false' },
    toolNaming: 'title',
    state: ['.copilot'],
    failedTurn: copilotFailedTurn,
  }),
  defineProvider({
    id: 'opencode',
    name: 'OpenCode',
    command: ['opencode', 'acp'],
    install: 'npm install -g opencode-ai',
    modelHosts: [...anthropic, ...openai, ...google, ...openrouter],
    tried: '1.18.33',
    credentials: {
      anthropic: opencode('anthropic'),
      openai: opencode('openai'),
      google: opencode('google'),
      openrouter: opencode('openrouter'),
      custom: opencode(null),
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
    state: ['.config/opencode', '.local/share/opencode', '.local/state/opencode'],
    telemetryOff: opencodeTelemetryOff,
  }),
  defineProvider({
    id: 'qwen',
    name: 'Qwen Code',
    command: ['qwen', '--acp'],
    install: 'npm install -g @qwen-code/qwen-code',
    modelHosts: [...openai, 'dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com', 'portal.qwen.ai', 'chat.qwen.ai'],
    tried: '0.15.10',
    credentials: { openai: qwen, openrouter: qwen, custom: qwen },
    account: openaiAccount,
    pass: ['OPENAI_MODEL'],
    homeFiles: { '.qwen/settings.json': qwenSettings },
    authMethods: ['openai'],
    // Allowing the server by its name alone would allow all of its tools.
    toolArgs: [`--allowed-tools=${unaskedTools.map(name => `mcp__${boardServer}__${name}`).join(',')}`],
    modes: { work: ['auto-edit', 'auto_edit', 'autoEdit'], plan },
    state: ['.qwen'],
    conversations: ['.qwen/projects', '.qwen/tmp', '.qwen/logs', '.qwen/debug', '.qwen/todos'],
    telemetryOff: qwenTelemetryOff,
  }),
  defineProvider({
    id: 'goose',
    name: 'Goose',
    command: ['goose', 'acp'],
    install: 'https://block.github.io/goose/docs/getting-started/installation',
    modelHosts: [...anthropic, ...openai, ...google, ...openrouter],
    credentials: {
      anthropic: goose('anthropic', 'ANTHROPIC_API_KEY', 'ANTHROPIC_HOST'),
      openai: gooseOpenai,
      custom: gooseOpenai,
      google: goose('google', 'GOOGLE_API_KEY'),
      openrouter: goose('openrouter', 'OPENROUTER_API_KEY'),
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
    state: ['.config/goose', '.local/share/goose', '.local/state/goose'],
    conversations: ['.local/share/goose/sessions', '.local/state/goose/logs'],
    telemetryOff: gooseTelemetryOff,
  }),
  defineProvider({
    id: 'cursor',
    name: 'Cursor',
    command: ['agent', 'acp'],
    install: 'https://cursor.com/docs/cli/installation',
    modelHosts: ['*.cursor.sh', '*.cursor.com'],
    credentials: {},
    account: ['CURSOR_API_KEY'],
    state: ['.cursor', '.config/cursor'],
    authMethods: ['cursor_login'],
    modes: { work: ['agent'], plan },
  }),
]
