import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { dataFolder } from '../../src/config/paths.ts'
import { Failure } from '../failures/failure.ts'
import { argumentsIn, launchdPlist, systemdUnit, type Service } from './serviceFile.ts'

/** The service of this account, if one is installed. */
export function installedService(): Service | undefined {
  const options = { node: process.execPath, program: '', args: [], dataDir: dataFolder(), path: '' }
  return [systemdUnit(options), launchdPlist(options)].find(({ path }) => existsSync(path))
}

/** Returns the arguments of `board serve` from an installed service. */
export const serviceArguments = ({ path }: Service): string[] => argumentsIn(readFileSync(path, 'utf8'))

/** Returns why the platform's service manager accepts no commands from this account. Returns undefined if it does. */
export async function whyUnreachable({ probe }: Service): Promise<string | undefined> {
  const { code, errorLine } = await ask(probe)
  return code === 0 ? undefined : code === undefined ? `${probe[0]} is not installed` : errorLine
}

/** Whether the process with this ID is the service. */
export async function isServiceProcess({ mainPid }: Service, pid: number): Promise<boolean> {
  const { code, printed } = await ask(mainPid)
  return code === 0 && [...printed.matchAll(/\d+/g)].some(([number]) => Number(number) === pid)
}

/** Starts or stops a service. @throws Failure when the platform refuses */
export const runService = (service: Service, verb: 'start' | 'stop'): Promise<void> => run(service[verb])

/**
 * Writes a service file and registers it with the platform. If that fails, restores the previous state.
 * @throws Failure
 */
export async function enableService(service: Service): Promise<void> {
  const before = existsSync(service.path) ? readFileSync(service.path, 'utf8') : undefined
  mkdirSync(dirname(service.path), { recursive: true })
  writeFileSync(service.path, service.text, { mode: 0o600 })
  try {
    for (const command of service.enable) await run(command)
  } catch (error) {
    if (before === undefined) await removeService(service)
    else writeFileSync(service.path, before, { mode: 0o600 })
    await ask(service.reload)
    throw error
  }
}

/** Stops and removes a service. The file is also removed if the service manager is not reachable. */
export async function disableService(service: Service): Promise<void> {
  for (const command of service.disable) await run(command)
  await removeService(service)
  await ask(service.reload)
}

/** Removes a service's files and the links that the platform created. */
export async function removeService(service: Service): Promise<void> {
  for (const command of service.disable) await ask(command)
  for (const path of [service.path, ...service.links]) rmSync(path, { force: true })
}

/** Returns whether the account's processes keep running after it signs out. Returns undefined if unknown. */
export async function lingers(): Promise<boolean | undefined> {
  const { code, printed } = await ask(['loginctl', 'show-user', userInfo().username, '--property=Linger', '--value'])
  return code === 0 && /^(yes|no)$/.test(printed.trim()) ? printed.trim() === 'yes' : undefined
}

async function run(command: readonly string[]): Promise<void> {
  const { code, errorLine } = await ask(command)
  if (code === undefined)
    throw new Failure('failure', `${command[0]} is not installed`, {
      hint: 'print the file with --print, and install it yourself',
    })
  if (code !== 0) throw new Failure('failure', `${command.join(' ')} ended with ${code}: ${errorLine}`)
}

interface Asked {
  /** Undefined if the program does not exist. */
  code: number | null | undefined
  printed: string
  /** The last line of its error output. */
  errorLine: string
}

async function ask([file, ...args]: readonly string[]): Promise<Asked> {
  const { execa } = await import('execa')
  const { exitCode, signal, stdout, stderr } = await execa(file!, args, {
    stdin: 'ignore',
    env: busOf(process.env),
    reject: false,
  })
  return {
    code: exitCode ?? (signal === undefined ? undefined : null),
    printed: stdout ?? '',
    errorLine: stderr?.trim().split('\n').at(-1)?.slice(0, 300) || 'no error output',
  }
}

/** After su or sudo, no variable names the account's bus, which might still exist. */
function busOf({ XDG_RUNTIME_DIR: given }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const folder = `/run/user/${process.getuid?.() ?? 0}`
  return !given && existsSync(join(folder, 'bus')) ? { XDG_RUNTIME_DIR: folder } : {}
}
