import { randomUUID } from 'node:crypto'
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentsFolder } from '../../config/folders.ts'
import { codexSandboxOverride, codexSandboxSettings } from './sandboxOverride.ts'

/**
 * How to disable an agent's telemetry and other requests that do not go to its model, without changing the account's settings.
 */
export interface TelemetryOff {
  env?: Readonly<Record<string, string>>
  /**
   * A settings file of the server, and the variable that points the agent to it. The account's own setting takes precedence: the
   * variable, or the file at `unless`.
   */
  file?: { variable: string; name: string; content: string; unless?: string }
  /**
   * Hosts that the agent's program, which runs on Node, cannot resolve. For agents without a switch that applies to every
   * account.
   */
  blockedHosts?: readonly string[]
}

export const claudeTelemetryOff: TelemetryOff = { env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' } }
export const opencodeTelemetryOff: TelemetryOff = { env: { OPENCODE_DISABLE_MODELS_FETCH: '1' } }
export const gooseTelemetryOff: TelemetryOff = { env: { GOOSE_TELEMETRY_ENABLED: 'false' } }
/** Gemini CLI can also disable it in its settings, but it accepts system settings only if the file belongs to root. */
export const geminiTelemetryOff: TelemetryOff = { blockedHosts: ['play.googleapis.com'] }
export const qwenTelemetryOff: TelemetryOff = {
  file: {
    variable: 'QWEN_CODE_SYSTEM_SETTINGS_PATH',
    name: 'qwen.json',
    content: JSON.stringify({ privacy: { usageStatisticsEnabled: false } }),
    unless: '/etc/qwen-code/settings.json',
  },
}

const codexSettings = [
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
export const codexTelemetryOff: TelemetryOff = {
  file: {
    variable: codexSandboxOverride.wrapper,
    name: 'codex.cjs',
    content: `#!/bin/sh
':' //; exec '${process.execPath}' "$0" "$@"
const { execFile, spawn } = require('node:child_process')
const { readFile, realpath } = require('node:fs/promises')
const { createRequire } = require('node:module')
const { isAbsolute } = require('node:path')
const { pathToFileURL } = require('node:url')
const { promisify } = require('node:util')
const sandboxOverride = ${Object.keys(codexSandboxOverride.env)
      .map(name => `process.env.${name}`)
      .join(' && ')} ? ${JSON.stringify(codexSandboxSettings)} : []
const settings = [...${JSON.stringify(codexSettings)}, ...sandboxOverride].flatMap(each => ['-c', each])
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

/** Blocks these hosts only for the agent's own program, not for the commands that it runs. */
const blocker = (hosts: readonly string[], program: string) => `const dns = require('node:dns')
const blocked = new Set(${JSON.stringify(hosts)})
const refusal = name => Object.assign(new Error('getaddrinfo ENOTFOUND ' + name), { code: 'ENOTFOUND', hostname: name })
if ((process.argv[1] ?? '').includes(${JSON.stringify(program)})) {
  const { lookup } = dns
  const { lookup: find } = dns.promises
  dns.lookup = (name, options, done = options) =>
    blocked.has(name) ? process.nextTick(done, refusal(name)) : lookup(name, options, done)
  dns.promises.lookup = (name, options) => (blocked.has(name) ? Promise.reject(refusal(name)) : find(name, options))
}
`

const isThere = async (path: string | undefined): Promise<boolean> =>
  path !== undefined &&
  access(path).then(
    () => true,
    () => false,
  )

/**
 * The folder with the settings files that the server passes to agents. Agents can read this folder, and nothing else in the data
 * folder.
 */
export const settingsFolder = (dataDir: string): string => join(agentsFolder(dataDir), 'settings')

/**
 * Returns the variables that disable an agent's telemetry, and writes the files that they point to. `given`: the variables that
 * the agent gets anyway.
 */
export async function switchTelemetryOff(
  { id, telemetryOff }: { id: string; telemetryOff?: TelemetryOff },
  dataDir: string,
  given: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, string>> {
  const { env = {}, file, blockedHosts } = telemetryOff ?? {}
  const write = async (name: string, content: string) => {
    const folder = settingsFolder(dataDir)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = join(folder, name)
    // Another session might be reading the file.
    if ((await readFile(path, 'utf8').catch(() => undefined)) !== content) {
      const temporary = `${path}.${randomUUID()}`
      await writeFile(temporary, content, { mode: 0o700 })
      await rename(temporary, path)
    }
    return path
  }
  const isDecided = file && (given[file.variable] !== undefined || (await isThere(file.unless)))
  const fits = file && !(process.platform === 'win32' && file.variable === codexSandboxOverride.wrapper)
  return {
    ...env,
    ...(file && fits && !isDecided && { [file.variable]: await write(file.name, file.content) }),
    ...(blockedHosts && {
      NODE_OPTIONS: [
        given.NODE_OPTIONS ?? [],
        `--require ${JSON.stringify(await write(`${id}.cjs`, blocker(blockedHosts, id)))}`,
      ]
        .flat()
        .join(' '),
    }),
  }
}
