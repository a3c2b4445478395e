import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { dataFolder } from '../../src/config/paths.ts'
import { Failure, usage } from '../exit.ts'
import { globalsOf } from '../globals.ts'
import { example } from '../help.ts'
import { openOut } from '../openOut.ts'
import { confirm } from '../prompt.ts'
import { launchdPlist, systemdUnit, type Service, type ServiceOptions } from '../serviceFile.ts'
import { write } from '../streams.ts'

interface InstallOptions {
  systemd?: boolean
  launchd?: boolean
  print?: boolean
}

export function registerInstall(server: Command, program: string): void {
  const install = server
    .command('install [arguments...]')
    .summary('Let the platform start the server by itself')
    .description(
      'Install a service for your account, which starts the server when you sign in, and again when it fails. What board serve takes stands behind --.',
    )
    .option('--systemd', 'a unit of systemd (the default on Linux)')
    .option('--launchd', 'a property list of launchd (the default on macOS)')
    .option('--user', 'for your account only, which is all there is: the server needs no other rights')
    .option('--print', 'print the file and install nothing')
    .action(async (args: string[], options: InstallOptions) => {
      const { out } = openOut(globalsOf(install))
      const service = serviceOf(options, { program, args })
      if (options.print) return write(service.text)
      mkdirSync(dirname(service.path), { recursive: true })
      writeFileSync(service.path, service.text, { mode: 0o600 })
      out.done(`Wrote ${service.path}.`)
      for (const command of service.enable) await run(command)
      out.done(
        'The server starts by itself from now on.' +
          (process.platform === 'linux' ? ' To start it before you sign in: loginctl enable-linger' : ''),
      )
    })
  example(
    install,
    'board server install',
    'board server install --print -- --port 4500',
    'board server install -- --public-url https://board.example.org --trust-proxy',
  )
  const uninstall = server
    .command('uninstall')
    .summary('Undo board server install')
    .description('Stop the service and remove its file. The data stays.')
    .option('-y, --yes', 'do not ask')
    .action(async ({ yes }: { yes?: boolean }) => {
      const { out, mayAsk } = openOut(globalsOf(uninstall))
      const service = installedService()
      if (!service) throw new Failure('notFound', 'no service is installed', { see: 'board server status' })
      await confirm({ mayAsk }, `Stop the server and remove ${service.path}?`, yes)
      for (const command of service.disable) await run(command)
      rmSync(service.path, { force: true })
      out.done(`Removed ${service.path}. The data is still in ${dataFolder()}.`)
    })
  example(uninstall, 'board server uninstall --yes')
}

/** The service of this account, if one is installed for this data folder's owner. */
export function installedService(): Service | undefined {
  const options = { node: process.execPath, program: '', args: [], dataDir: dataFolder(), path: '' }
  return [systemdUnit(options), launchdPlist(options)].find(({ path }) => existsSync(path))
}

/** Starts or stops the installed service. @throws Failure when the platform refuses */
export const runService = async (verb: 'start' | 'stop'): Promise<void> => run(installedService()![verb])

function serviceOf(
  { systemd, launchd }: InstallOptions,
  { program, args }: Pick<ServiceOptions, 'program' | 'args'>,
): Service {
  if (systemd && launchd) throw usage('--systemd and --launchd exclude each other')
  const isMac = process.platform === 'darwin'
  if (!systemd && !launchd && !isMac && process.platform !== 'linux')
    throw usage('this platform has neither systemd nor launchd', { hint: 'run board serve by its own service manager' })
  const options = {
    node: process.execPath,
    program,
    args,
    dataDir: dataFolder(),
    path: process.env.PATH ?? join(homedir(), 'bin'),
  }
  return launchd || (isMac && !systemd) ? launchdPlist(options) : systemdUnit(options)
}

function run([file, ...args]: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file!, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    child.on('error', () =>
      reject(
        new Failure('failure', `${file} is not there`, {
          hint: 'print the file with --print, and install it yourself',
        }),
      ),
    )
    child.on('close', code =>
      code === 0
        ? resolve()
        : reject(
            new Failure(
              'failure',
              `${[file, ...args].join(' ')} ended with ${code}: ${said.trim().split('\n').at(-1)?.slice(0, 300) ?? ''}`,
            ),
          ),
    )
  })
}
