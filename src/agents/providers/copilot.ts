import type { FailedTurnRule } from '../link/agentLink.ts'
import { reasonOfError, toPlainLine } from '../link/failureReasons.ts'
import { defineProvider } from './agentProvider.ts'
import {
  fullUrl,
  hasHeaders,
  headerLines,
  keyVariables,
  withoutVersion,
  type CredentialMapping,
} from './credentialEnvironment.ts'
import { providerHosts } from './modelHosts.ts'

/** Copilot with a custom model provider, for which it has no default model. */
const ownProvider = (type: 'openai' | 'anthropic'): CredentialMapping => ({
  headers: true,
  model: 'needed',
  env: (credential, model) => ({
    COPILOT_PROVIDER_TYPE: type,
    COPILOT_PROVIDER_BASE_URL: type === 'anthropic' ? withoutVersion(fullUrl(credential)!) : fullUrl(credential)!,
    [credential.kind === 'oauth' ? 'COPILOT_PROVIDER_BEARER_TOKEN' : 'COPILOT_PROVIDER_API_KEY']: credential.token,
    ...(hasHeaders(credential) && { COPILOT_PROVIDER_HEADERS: headerLines(credential.headers, '\n') }),
    ...(model !== null && { COPILOT_MODEL: model }),
  }),
})

const providerVariables = [
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

/** The text with which Copilot's own program begins its reports. */
const report =
  /^Error: (Failed to get response from the AI model|Authentication failed with provider|Model '.*' not found on provider|\d{3} |.*\(HTTP \d{3}\))/

/**
 * Copilot ends a failed turn normally, with the error as the last text. That text arrives in one chunk, without the usage that follows a
 * model's answer. If earlier calls succeeded, usage is also reported, so the text decides.
 */
const failedTurn: FailedTurnRule = ({ lastChunk, responseHasUsage }) => {
  if (!lastChunk.startsWith('Error: ') || (responseHasUsage && !report.test(lastChunk))) return null
  const text = toPlainLine(lastChunk)
  return { reason: reasonOfError(text) ?? 'model_error', message: text }
}

export const copilot = defineProvider({
  id: 'copilot',
  name: 'GitHub Copilot CLI',
  command: ['copilot', '--acp'],
  install: 'npm install -g @github/copilot',
  modelHosts: [...providerHosts.github, 'github.com'],
  tried: '1.0.102',
  credentials: {
    github: keyVariables({ key: 'COPILOT_GITHUB_TOKEN' }),
    anthropic: ownProvider('anthropic'),
    openai: ownProvider('openai'),
    openrouter: ownProvider('openai'),
    custom: ownProvider('openai'),
  },
  account: [
    'COPILOT_GITHUB_TOKEN',
    'GH_TOKEN',
    'GITHUB_TOKEN',
    'GH_HOST',
    ...providerVariables,
    'COPILOT_HOME',
    'COPILOT_MODEL',
  ],
  env: { COPILOT_AUTO_UPDATE: 'false' },
  toolNaming: 'title',
  state: ['.copilot'],
  failedTurn,
})
