import { randomUUID } from 'node:crypto'
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentsFolder } from '../../config/folders.ts'
import { codexWalled, codexWalledSettings } from './walledAgent.ts'

/** How an agent's telemetry, and what else it looks for beyond its model, is switched off without a change of the account's settings. */
export interface TelemetryOff {
  env?: Readonly<Record<string, string>>
  /** A file of the server's, and the variable that leads the agent to it. What the account has decided itself stays: the variable, or the file at `unless`. */
  file?: { variable: string; name: string; content: string; unless?: string }
  /** Hosts that its program, which runs on Node, does not find: it has no switch that holds for every account. */
  blockedHosts?: readonly string[]
}

export const claudeTelemetryOff: TelemetryOff = { env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' } }
export const opencodeTelemetryOff: TelemetryOff = { env: { OPENCODE_DISABLE_MODELS_FETCH: '1' } }
export const gooseTelemetryOff: TelemetryOff = { env: { GOOSE_TELEMETRY_ENABLED: 'false' } }
/** Its settings switch it off too, but of the system's it takes only those that belong to root. */
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
 * Codex reads these settings only at its start, from its home or its arguments. So its adapter gets a wrapper program that runs the
 * adapter's own Codex with these arguments.
 */
export const codexTelemetryOff: TelemetryOff = {
  file: {
    variable: codexWalled.wrapper,
    name: 'codex.cjs',
    content: `#!/bin/sh
':' //; exec '${process.execPath}' "$0" "$@"
const { execFile, spawn } = require('node:child_process')
const { readFile, realpath } = require('node:fs/promises')
const { createRequire } = require('node:module')
const { isAbsolute } = require('node:path')
const { pathToFileURL } = require('node:url')
const { promisify } = require('node:util')
const walled = ${Object.keys(codexWalled.env)
      .map(name => `process.env.${name}`)
      .join(' && ')} ? ${JSON.stringify(codexWalledSettings)} : []
const settings = [...${JSON.stringify(codexSettings)}, ...walled].flatMap(each => ['-c', each])
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

/** Only the agent's own program is kept from these hosts, not what it runs. */
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

/** Where the files are to which the server leads agents. They may read them, and nothing else of the data folder. */
export const settingsFolder = (dataDir: string): string => join(agentsFolder(dataDir), 'settings')

/** The variables that switch an agent's telemetry off. Writes the files that they lead to. `given`: the variables that it gets anyway. */
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
    // Another session may be reading it.
    if ((await readFile(path, 'utf8').catch(() => undefined)) !== content) {
      const temporary = `${path}.${randomUUID()}`
      await writeFile(temporary, content, { mode: 0o700 })
      await rename(temporary, path)
    }
    return path
  }
  const isDecided = file && (given[file.variable] !== undefined || (await isThere(file.unless)))
  const fits = file && !(process.platform === 'win32' && file.variable === codexWalled.wrapper)
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
