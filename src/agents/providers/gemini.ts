import { defineProvider } from './agentProvider.ts'
import { hasHeaders, headerLines, keyVariables, type CredentialMapping } from './credentialEnvironment.ts'
import { providerHosts } from './modelHosts.ts'

const credential: CredentialMapping = {
  headers: true,
  model: 'taken',
  env: (given, model) => ({
    ...keyVariables({ key: 'GEMINI_API_KEY', baseUrl: 'GOOGLE_GEMINI_BASE_URL', model: 'GEMINI_MODEL' }).env(
      given,
      model,
    ),
    ...(hasHeaders(given) && { GEMINI_CLI_CUSTOM_HEADERS: headerLines(given.headers, ', ') }),
  }),
}

export const gemini = defineProvider({
  id: 'gemini',
  name: 'Gemini CLI',
  command: ['gemini', '--acp'],
  install: 'npm install -g @google/gemini-cli',
  modelHosts: [...providerHosts.google, 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com', 'accounts.google.com'],
  tried: '0.61.0',
  credentials: { google: credential },
  account: [
    'GEMINI_API_KEY',
    'GOOGLE_API_KEY',
    'GOOGLE_GEMINI_BASE_URL',
    'GEMINI_MODEL',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_CLOUD_LOCATION',
    'GOOGLE_GENAI_USE_VERTEXAI',
    'GOOGLE_APPLICATION_CREDENTIALS',
  ],
  authMethods: ['gemini-api-key'],
  // In a folder that the agent does not trust, it accepts only its default mode.
  env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  toolNaming: 'call_id',
  modes: { work: ['autoEdit', 'auto_edit'] },
  state: ['.gemini'],
  conversations: ['.gemini/tmp', '.gemini/history'],
  // The agent's settings can also disable telemetry, but system settings are accepted only if the file belongs to root.
  telemetryOff: { blockedHosts: ['play.googleapis.com'] },
})
