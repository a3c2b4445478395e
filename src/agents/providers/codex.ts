import type { FailedTurnRule } from '../link/agentLink.ts'
import { reasonOfError, reasonOfStatus, toPlainLine } from '../link/failureReasons.ts'
import { defineProvider, type SandboxOverride } from './agentProvider.ts'
import { fullUrl, hasHeaders, type CredentialMapping } from './credentialEnvironment.ts'
import { providerHosts } from './modelHosts.ts'
import type { TelemetryOff } from './telemetryOff.ts'
import { asObject } from '../link/json.ts'

/** Codex accepts all values of a credential in its configuration, except the key. Its adapter reads the key from the environment. */
const credential: CredentialMapping = {
  headers: true,
  model: 'taken',
  env(given, model) {
    const { token, baseUrl, headers } = given
    const provider = {
      name: 'board',
      base_url: fullUrl(given),
      env_key: 'CODEX_API_KEY',
      wire_api: 'responses',
      ...(hasHeaders(given) && { http_headers: headers }),
    }
    const config = {
      ...(model !== null && { model }),
      ...((baseUrl !== null || hasHeaders(given)) && {
        model_provider: 'board',
        model_providers: { board: provider },
      }),
    }
    return { CODEX_API_KEY: token, ...(Object.keys(config).length > 0 && { CODEX_CONFIG: JSON.stringify(config) }) }
  },
}

/**
 * A permission profile that allows everything needs no sandbox and still asks the user. Codex's own full-access mode does not
 * ask.
 */
const sandboxSettings = [
  'default_permissions="board"',
  'permissions={board={description="Within the sandbox of the board",filesystem={":root"="write"},network={enabled=true}}}',
]
const sandboxOverride: SandboxOverride = {
  wrapper: 'CODEX_PATH',
  env: { BOARD_CODEX_SANDBOXED: '1' },
  mode: 'permission-profile:board',
  replaced: ['workspace-write', 'agent', 'auto', 'read-only'],
  readOnlyMode: 'read-only',
}

const startSettings = [
  'check_for_update_on_startup=false',
  'analytics.enabled=false',
  'features.plugins=false',
  'features.remote_plugin=false',
  'features.apps=false',
]
/**
 * Codex reads these settings only at startup, from its home or its arguments. So its adapter gets a wrapper program that runs the
 * adapter's own Codex with these arguments.
 */
const telemetryOff: TelemetryOff = {
  file: {
    variable: sandboxOverride.wrapper,
    name: 'codex.cjs',
    isProgram: true,
    content: `#!/bin/sh
':' //; exec '${process.execPath}' "$0" "$@"
const { execFile, spawn } = require('node:child_process')
const { readFile, realpath } = require('node:fs/promises')
const { createRequire } = require('node:module')
const { isAbsolute } = require('node:path')
const { pathToFileURL } = require('node:url')
const { promisify } = require('node:util')
const sandboxOverride = ${Object.keys(sandboxOverride.env)
      .map(name => `process.env.${name}`)
      .join(' && ')} ? ${JSON.stringify(sandboxSettings)} : []
const settings = [...${JSON.stringify(startSettings)}, ...sandboxOverride].flatMap(each => ['-c', each])
const args = [...settings, ...process.argv.slice(2)]
const psWords = () => promisify(execFile)('ps', ['-o', 'args=', '-p', String(process.ppid)]).then(({ stdout }) => stdout.trim().split(' '))
const adapterWords = () => readFile('/proc/' + process.ppid + '/cmdline', 'utf8').then(words => words.split('\\0'), psWords)
async function bundledCodex() {
  for (const word of (await adapterWords()).slice(1).filter(isAbsolute)) {
    const adapter = await realpath(word).catch(() => undefined)
    if (adapter) return createRequire(adapter).resolve('@openai/codex/bin/codex.js')
  }
}
void bundledCodex().catch(() => undefined).then(file => {
  if (file) {
    process.argv.splice(1, process.argv.length, file, ...args)
    return import(pathToFileURL(file).href)
  }
  const codex = spawn('codex', args, { stdio: 'inherit' })
  codex.on('error', error => { console.error(String(error)); process.exit(127) })
  codex.on('exit', code => process.exit(code ?? 1))
})
`,
  },
}

/**
 * Codex reports a failed turn as successful. But its thread is then in the state `systemError`, and the preceding error can
 * contain an HTTP status.
 */
const failedTurn: FailedTurnRule = ({ states, lastChunk }) => {
  const known = states.map(state => asObject(asObject(state).codex))
  const status = known.findLast(({ threadStatus }) => threadStatus !== undefined)?.threadStatus
  if (asObject(status).type !== 'systemError') return null
  const error = asObject(known.findLast(({ error }) => error !== undefined)?.error)
  const text = toPlainLine(lastChunk) || toPlainLine(String(error.message ?? ''))
  return {
    reason: reasonOfStatus(statusIn(error.codexErrorInfo)) ?? reasonOfError(text) ?? 'model_error',
    message: text || noWords,
  }
}

const noWords = 'The agent reported an error of its model service, without details.'

/** `{ responseStreamDisconnected: { httpStatusCode: 429 } }` */
const statusIn = (info: unknown): unknown =>
  Object.values(asObject(info))
    .map(each => asObject(each).httpStatusCode)
    .find(each => typeof each === 'number')

export const codex = defineProvider({
  id: 'codex',
  name: 'Codex',
  command: ['codex-acp'],
  install: 'npm install -g @agentclientprotocol/codex-acp',
  modelHosts: [...providerHosts.openai, 'chatgpt.com', 'auth.openai.com'],
  tried: '2.6.0',
  credentials: { openai: credential, custom: credential },
  account: ['CODEX_API_KEY', 'OPENAI_API_KEY', 'CODEX_HOME', 'CODEX_PATH', 'CODEX_CONFIG', 'MODEL_PROVIDER'],
  authMethods: ['api-key', 'codex-api-key', 'openai-api-key'],
  // In the mode `agent`, a second model answers the questions instead of a user.
  modes: { work: ['workspace-write', 'agent', 'auto'], plan: ['read-only'] },
  state: ['.codex'],
  sandboxOverride,
  failedTurn,
  telemetryOff,
})
