import type { Command } from 'commander'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { dataFolder } from '../../../src/config/paths.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { globalsOf } from '../../parsing/globals.ts'
import { example } from '../../help/help.ts'
import { findLocalServer } from '../../context/localServer.ts'
import { createOutput } from '../../output/createOutput.ts'
import { confirm } from '../../input/prompt.ts'
import { launchdPlist, systemdUnit, type Service, type ServiceOptions } from '../../server/serviceFile.ts'
import {
  disableService,
  enableService,
  installedService,
  isServiceProcess,
  lingers,
  removeService,
  whyUnreachable,
} from '../../server/serviceManager.ts'
import { write } from '../../output/streams.ts'

interface InstallOptions {
  systemd?: boolean
  launchd?: boolean
  print?: boolean
}

export function registerInstall(server: Command, program: string): void {
  const install = server
    .command('install [arguments...]')
    .summary('Install the server as a service')
    .description(
      'Install a service of your account that starts the server when you sign in, and restarts it after a failure. Options of board serve follow --.',
    )
    .option('--systemd', 'unit for systemd (default on Linux)')
    .option('--launchd', 'property list for launchd (default on macOS)')
    .option('--user', 'no effect: a service always belongs to your account')
    .option('--print', 'print the file without installing it')
    .action(async (args: string[], options: InstallOptions) => {
      const { out } = createOutput(globalsOf(install))
      const service = serviceOf(options, { program, args })
      if (options.print) return write(service.text)
      await requireManager(service)
      await requireNoOther(service)
      await enableService(service)
      out.done(`Wrote ${service.path}.`)
      out.done('The server now starts automatically when you sign in.')
      if (service.manager === 'systemd' && !(await lingers()))
        out.done('The server stops when you sign out. To keep it running and start it at boot: loginctl enable-linger')
    })
  example(
    install,
    'board server install',
    'board server install --print -- --port 4500',
    'board server install -- --public-url https://board.example.org --trust-proxy',
  )
  const uninstall = server
    .command('uninstall')
    .summary('Uninstall the service')
    .description('Stop the service and remove its file. The data remains.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async ({ yes }: { yes?: boolean }) => {
      const { out, mayAsk } = createOutput(globalsOf(uninstall))
      const service = installedService()
      if (!service) throw new Failure('notFound', 'no service is installed', { see: 'board server status' })
      await confirm({ mayAsk }, `Stop the server and remove ${service.path}?`, yes)
      const why = await whyUnreachable(service)
      if (why === undefined) await disableService(service)
      else {
        await removeService(service)
        out.warn(
          `${service.manager} is not reachable (${why}); a server that it started keeps running until you stop it`,
        )
      }
      out.done(`Removed ${service.path}. The data is still in ${dataFolder()}.`)
    })
  example(uninstall, 'board server uninstall --yes')
}

/** @throws Failure if the platform's service manager cannot accept the service */
async function requireManager(service: Service): Promise<void> {
  const why = await whyUnreachable(service)
  if (why !== undefined)
    throw new Failure('failure', `${service.manager} is not reachable, and nothing was installed: ${why}`, {
      hint:
        service.manager === 'systemd'
          ? 'sign in directly (not with su or sudo), or as root run loginctl enable-linger YOU; or run board server start'
          : 'sign in to the desktop first, or run board server start',
      see: 'board server install --print',
    })
}

/** Requires that no other server uses the data folder, because the service would fail repeatedly. */
async function requireNoOther(service: Service): Promise<void> {
  const { state, runtime } = await findLocalServer()
  if (state === 'running' && !(await isServiceProcess(service, runtime!.pid)))
    throw new Failure('conflict', `a server is already running: ${runtime!.url} (process ${runtime!.pid})`, {
      hint: 'stop it first: board server stop',
      see: 'board server status',
    })
}

function serviceOf(
  { systemd, launchd }: InstallOptions,
  { program, args }: Pick<ServiceOptions, 'program' | 'args'>,
): Service {
  if (systemd && launchd) throw usage('--systemd and --launchd are mutually exclusive')
  const isMac = process.platform === 'darwin'
  if (!systemd && !launchd && !isMac && process.platform !== 'linux')
    throw usage('this platform has neither systemd nor launchd', {
      hint: 'run board serve with the service manager of the platform',
    })
  const options = {
    node: process.execPath,
    program,
    args,
    dataDir: dataFolder(),
    path: process.env.PATH ?? join(homedir(), 'bin'),
  }
  return launchd || (isMac && !systemd) ? launchdPlist(options) : systemdUnit(options)
}
