import { randomUUID } from 'node:crypto'
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentsFolder } from '../../config/folders.ts'

/**
 * The variables and files that disable an agent's telemetry and other requests that do not go to its model. The account's
 * settings are unchanged.
 */
export interface TelemetryOff {
  env?: Readonly<Record<string, string>>
  /**
   * A settings file of the server, and the variable that points the agent to it. The account's own setting takes precedence: the
   * variable, or the file at `unless`. `isProgram`: a program that Windows cannot start.
   */
  file?: { variable: string; name: string; content: string; unless?: string; isProgram?: boolean }
  /**
   * Hosts that the agent's program, which runs on Node, cannot resolve. For agents without a switch that applies to every
   * account.
   */
  blockedHosts?: readonly string[]
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
  const fits = file && !(process.platform === 'win32' && file.isProgram)
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
