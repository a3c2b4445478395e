import { defineProvider } from './agentProvider.ts'
import { fullUrl, hasHeaders, type CredentialMapping } from './credentialEnvironment.ts'
import { commonModelHosts } from './modelHosts.ts'

/**
 * OpenCode accepts everything in its configuration. Only the credential's provider is enabled, because OpenCode can otherwise
 * choose a model of another provider, including a third party's.
 * @param id the provider's name in OpenCode; null for a custom endpoint, which requires an explicit model
 */
const credentialOf = (id: string | null): CredentialMapping => ({
  headers: true,
  model: id === null ? 'needed' : 'taken',
  env(credential, model) {
    const name = id ?? 'board'
    const provider = {
      ...(id === null && { npm: '@ai-sdk/openai-compatible', name: 'board' }),
      options: {
        apiKey: '{env:OPENCODE_API_KEY}',
        ...(credential.baseUrl !== null && { baseURL: fullUrl(credential) }),
        ...(hasHeaders(credential) && { headers: credential.headers }),
      },
      ...(credential.models.length > 0 && {
        models: Object.fromEntries(credential.models.map(each => [each, { name: each }])),
      }),
    }
    const config = {
      enabled_providers: [name],
      provider: { [name]: provider },
      ...(model !== null && { model: `${name}/${model}`, small_model: `${name}/${credential.models.at(-1)}` }),
      share: 'disabled',
    }
    return { OPENCODE_API_KEY: credential.token, OPENCODE_CONFIG_CONTENT: JSON.stringify(config) }
  },
})

export const opencode = defineProvider({
  id: 'opencode',
  name: 'OpenCode',
  command: ['opencode', 'acp'],
  install: 'npm install -g opencode-ai',
  modelHosts: commonModelHosts,
  tried: '1.18.33',
  credentials: {
    anthropic: credentialOf('anthropic'),
    openai: credentialOf('openai'),
    google: credentialOf('google'),
    openrouter: credentialOf('openrouter'),
    custom: credentialOf(null),
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
  modes: { work: ['build'] },
  state: ['.config/opencode', '.local/share/opencode', '.local/state/opencode'],
  telemetryOff: { env: { OPENCODE_DISABLE_MODELS_FETCH: '1' } },
})
