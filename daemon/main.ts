import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { App } from '../src/app.ts'
import { parseSchedule } from '../src/backups/schedule.ts'
import { causeOf } from '../src/config/log.ts'
import { oauthClients } from '../src/config/oauthClients.ts'
import { dataFolder, serverOutputFile } from '../src/config/paths.ts'
import { isLocalOnly, serverDefaults, type ServerConfig } from '../src/config/server.ts'
import { isLoopbackHost } from '../src/contract/networkHosts.ts'
import type { ServeOptions } from '../src/config/serverProgram.ts'
import { hasAnyProject } from '../src/store/projects/projects.ts'
import { createStderrLog } from './process/stderrLog.ts'
import { boundedStderr } from './process/boundedStderr.ts'
import { startServer, type RunningServer } from './process/startServer.ts'

const preloadAfterMs = 1000
/** Longer than in-progress work can take (`drainMs`), and within the 15 s that a signal can take. */
const maxStopMs = 14_000
/** After a failed start, the process ends after this time even if handles are still open. */
const maxFailureMs = 2000
/** The path of the watchdog, which the build puts next to the server's program. */
const watchdogProgram = fileURLToPath(new URL('watchdog.cjs', import.meta.url))

const webRoot = fileURLToPath(new URL('web', import.meta.url))
const docsRoot = fileURLToPath(new URL('../docs', import.meta.url))

/**
 * Runs a server in the foreground until SIGTERM or SIGINT. Resolves to its URL once it answers; the process ends after the drain.
 * @throws Problem SERVER_ALREADY_RUNNING, or the error of listening
 */
export async function runServe(options: ServeOptions, onTerminal: boolean): Promise<string> {
  // The reader of stdout or stderr can close the pipe: the server keeps running.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', () => {
      /* Without the stream, the error cannot be reported. */
    })
  const config = configOf(options)
  if (config.backupEvery !== undefined) parseSchedule(config.backupEvery)
  const log = createStderrLog(
    config.logLevel,
    config.logFormat ?? (process.stderr.isTTY ? 'pretty' : 'json'),
    process.stderr.isTTY && !process.env.NO_COLOR,
  )
  const server = await startUntilSignal(() =>
    startServer(config, boundedStderr(log, serverOutputFile(config.dataDir)), tellSetupCode),
  )
  noteCrash(server)
  process.stdout.write(`Listening on ${server.url}\n`)
  if (onTerminal) process.stderr.write(await nextSteps(server))
  tellSetupCode(server.app)
  setTimeout(preloadArgon2, preloadAfterMs).unref()
  return server.url
}

/**
 * Loads the library for passwords after the start. It is not part of the server's file: at a sign-in while no file descriptor is
 * free, loading it would fail, and Node would repeat that failure for the rest of the process.
 */
function preloadArgon2(): void {
  import('@node-rs/argon2').catch(() => undefined)
}

function tellSetupCode({ config, identity }: Pick<App, 'config' | 'identity'>): void {
  const setupCode = identity.setupCode()
  if (!setupCode) return
  // On this machine "board auth setup" sends the local token; other ways need the code.
  const who = isLocalOnly(config)
    ? 'The first user, unless created with "board auth setup", needs'
    : 'The first user needs'
  process.stderr.write(
    config.setupCode === undefined
      ? `${who} this one-time setup code: ${setupCode}\n`
      : `${who} the setup code that you set for this server.\n`,
  )
}

function configOf({ database, machine = hostname(), advertise, cert, key, ...options }: ServeOptions): ServerConfig {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Omit<
    ServeOptions,
    'database'
  >
  return {
    ...serverDefaults,
    ...given,
    dataDir: resolve(given.dataDir ?? dataFolder()),
    worktreeRoot: given.worktreeRoot === undefined ? undefined : resolve(given.worktreeRoot),
    pricesFile: given.pricesFile === undefined ? undefined : resolve(given.pricesFile),
    watchdogProgram,
    webRoot,
    docsRoot,
    projectRoots: (given.projectRoots ?? []).map(root => resolve(root)),
    browseRoot: resolve(given.browseRoot ?? serverDefaults.browseRoot),
    ...(database !== undefined && {
      database: { url: database, token: process.env.BOARD_DATABASE_TOKEN || undefined, host: machine, advertise },
    }),
    ...(cert !== undefined &&
      key !== undefined && {
        tls: { cert: resolve(cert), key: resolve(key), passphrase: process.env.BOARD_TLS_PASSPHRASE || undefined },
      }),
    secretKey: process.env.BOARD_SECRET_KEY || undefined,
    oauthClients: oauthClients(process.env),
  }
}

/** Logs an uncaught error before it ends the process. */
function noteCrash(server: RunningServer): void {
  process.on('uncaughtExceptionMonitor', error => {
    const { logs } = server.app
    logs.aside('error', 'The server stops because of an uncaught error.', { cause: causeOf(error) })
    logs.flushSync()
  })
}

/**
 * Starts a server that drains on a signal. A signal during the start stops the server once it runs. After a signal or a
 * failed start, the process ends in time even if handles are still open.
 */
async function startUntilSignal(start: () => Promise<RunningServer>): Promise<RunningServer> {
  let asked = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (asked) process.exit(signal === 'SIGINT' ? 130 : 143)
    asked = true
    setTimeout(() => {
      process.stderr.write(`The server did not stop within ${maxStopMs / 1000} s and was terminated.\n`)
      process.exit(1)
    }, maxStopMs)
    void starting.then(
      server =>
        server.stop().then(
          () => process.exit(0),
          () => process.exit(1),
        ),
      () => undefined, // The caller reports why it could not start.
    )
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onSignal)
  const starting = start()
  starting.catch(() => setTimeout(() => process.exit(), maxFailureMs).unref())
  return starting
}

/** If npx started the program, it is not on the PATH, and the working directory is not the project. */
async function nextSteps(server: RunningServer): Promise<string> {
  const { identity, db } = server.app
  const [hasUsers, hasProjects] = [await identity.hasUsers(), await hasAnyProject(db)]
  const [board, path, project] =
    process.env.npm_command === 'exec' ? ['npx board', '~/my-app', ' -P my-app'] : ['board', '.', '']
  const mayBeMade = !hasUsers && isLoopbackHost(server.app.config.host)
  const firstSteps = [
    [`${board} projects create my-app --path ${path}`, 'create a project for a folder'],
    [`${board} cards add "My first card"${project}`, 'add a card to its board'],
    [`${board} cards list${project}`, ''],
  ]
  const beyond = !hasUsers && !isLoopbackHost(server.app.config.host)
  const setup = `${board} auth setup --email you@example.org`
  const steps = [
    ...(beyond ? [[setup, 'first: create the first user, with the code below']] : []),
    ...(hasProjects
      ? [
          [`${board} projects list`, 'list your projects'],
          [`${board} ui`, 'the board in the terminal'],
        ]
      : firstSteps),
    ...(mayBeMade ? [[setup, 'create your account (optional on this machine)']] : []),
  ] as const
  const width = Math.max(...steps.map(([command]) => command!.length)) + 2
  return `\nIn a second terminal:\n${steps.map(([command, what]) => `  ${command!.padEnd(width)}${what}`.trimEnd()).join('\n')}\n\nAPI: ${server.url}/api/docs   Stop with Ctrl+C.\n`
}
