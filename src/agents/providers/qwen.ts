import { unaskedTools } from '../../contract/agents/boardTools.ts'
import { boardServer } from '../acp/toolCalls.ts'
import { defineProvider } from './agentProvider.ts'
import { keyVariables, type CredentialMapping } from './credentialEnvironment.ts'
import { providerHosts } from './modelHosts.ts'
import type { TelemetryOff } from './telemetryOff.ts'

const credential: CredentialMapping = {
  ...keyVariables({ key: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL', model: 'OPENAI_MODEL' }),
  args: ['--auth-type', 'openai'],
}

/** No telemetry without consent, and no automatic updates of the program on a server. */
const homeSettings = `${JSON.stringify({ privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } }, null, 2)}\n`

const telemetryOff: TelemetryOff = {
  file: {
    variable: 'QWEN_CODE_SYSTEM_SETTINGS_PATH',
    name: 'qwen.json',
    content: JSON.stringify({ privacy: { usageStatisticsEnabled: false } }),
    unless: '/etc/qwen-code/settings.json',
  },
}

export const qwen = defineProvider({
  id: 'qwen',
  name: 'Qwen Code',
  command: ['qwen', '--acp'],
  install: 'npm install -g @qwen-code/qwen-code',
  modelHosts: [
    ...providerHosts.openai,
    'dashscope.aliyuncs.com',
    'dashscope-intl.aliyuncs.com',
    'portal.qwen.ai',
    'chat.qwen.ai',
  ],
  tried: '0.15.10',
  credentials: { openai: credential, openrouter: credential, custom: credential },
  account: ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL'],
  pass: ['OPENAI_MODEL'],
  homeFiles: { '.qwen/settings.json': homeSettings },
  authMethods: ['openai'],
  // Allowing the server by its name alone would allow all of its tools.
  toolArgs: [`--allowed-tools=${unaskedTools.map(name => `mcp__${boardServer}__${name}`).join(',')}`],
  modes: { work: ['auto-edit', 'auto_edit', 'autoEdit'] },
  state: ['.qwen'],
  conversations: ['.qwen/projects', '.qwen/tmp', '.qwen/logs', '.qwen/debug', '.qwen/todos'],
  telemetryOff,
})
