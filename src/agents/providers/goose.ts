import { defineProvider } from './agentProvider.ts'
import { apiUrl, keyVariables, type CredentialMapping } from './credentialEnvironment.ts'
import { commonModelHosts } from './modelHosts.ts'

/** Goose accepts the host and the path of the base URL separately. */
const openai: CredentialMapping = {
  model: 'taken',
  env(credential, model) {
    const url = apiUrl(credential)
    const parts = url === null ? undefined : new URL(url)
    return {
      GOOSE_PROVIDER: 'openai',
      OPENAI_API_KEY: credential.token,
      ...(model !== null && { GOOSE_MODEL: model }),
      ...(parts && {
        OPENAI_HOST: parts.origin,
        OPENAI_BASE_PATH: `${parts.pathname.replace(/^\/|\/$/g, '')}/chat/completions`.replace(/^\//, ''),
      }),
    }
  },
}
const credentialOf = (provider: string, key: string, baseUrl?: string): CredentialMapping =>
  keyVariables({ key, baseUrl, model: 'GOOSE_MODEL', rest: { GOOSE_PROVIDER: provider } })

export const goose = defineProvider({
  id: 'goose',
  name: 'Goose',
  command: ['goose', 'acp'],
  install: 'https://block.github.io/goose/docs/getting-started/installation',
  modelHosts: commonModelHosts,
  credentials: {
    anthropic: credentialOf('anthropic', 'ANTHROPIC_API_KEY', 'ANTHROPIC_HOST'),
    openai,
    custom: openai,
    google: credentialOf('google', 'GOOGLE_API_KEY'),
    openrouter: credentialOf('openrouter', 'OPENROUTER_API_KEY'),
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
  modes: { work: ['smart_approve', 'auto'] },
  state: ['.config/goose', '.local/share/goose', '.local/state/goose'],
  conversations: ['.local/share/goose/sessions', '.local/state/goose/logs'],
  telemetryOff: { env: { GOOSE_TELEMETRY_ENABLED: 'false' } },
})
