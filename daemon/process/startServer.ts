import { listen } from 'listhen'
import { rmSync, writeFileSync, renameSync, readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { App } from '../../src/app.ts'
import { causeOf } from '../../src/config/log.ts'
import { processMark } from '../../src/system/kernel.ts'
import { runtimeFile, type Runtime } from '../../src/config/paths.ts'
import { markFromSandbox } from '../../src/identity/sandboxSockets.ts'
import { reachableAddress, schemeOf, type ServerConfig } from '../../src/config/server.ts'
import { isLoopbackHost } from '../../src/contract/networkHosts.ts'
import { version } from '../../src/config/version.ts'
import { boardFolders } from '../../src/worktrees/worktreePlaces.ts'
import { takeWorktreeRoots } from '../../src/worktrees/worktreeRoot.ts'
import { gitMissing } from '../../src/git/git.ts'
import { findProgram } from '../../src/process/findProgram.ts'
import { findAddingRepository } from '../../src/git/addingRepository.ts'
import { Problem } from '../../src/contract/errors.ts'
import { openLogs, type Logs } from '../../src/logs/logs.ts'
import { holdDataFolder } from '../../src/store/engine/lock.ts'
import { acceptFirst } from '../connections/acceptFirst.ts'
import { createConnectionTimeouts, type ConnectionTimeouts } from '../connections/slowClients.ts'
import { followCertificate, namedUrl, readCertificate, type Certificate } from './certificate.ts'
import type { Log } from './stderrLog.ts'
import { handleMalformedRequests } from '../connections/malformedRequests.ts'
import { createRequestLog } from '../http/requestLog.ts'
import { drainMs, BoardHost } from './boardHost.ts'

/** Prevents the listener from trying other ports. Its types require pairs where its code accepts an empty list. */
const noOtherPorts = {
  ports: [],
  portRange: [] as unknown as [number, number],
  alternativePortRange: [] as unknown as [number, number],
}

export interface RunningServer {
  /** The address of the server on this machine. */
  url: string
  /** The current board. A restore replaces it. */
  readonly app: App
  /** How many clients listen for live events. */
  sockets(): number
  /** Accepts a connection from inside a sandbox. It is untrusted, regardless of its apparent address. */
  acceptFromSandbox(socket: Socket): void
  /** Accepts no new work, waits up to 10 s for work in progress, and releases the data folder. */
  stop(): Promise<void>
}

/**
 * Starts a server on its data folder and leaves `daemon.json` there.
 * @param terminal the log output in addition to the data folder
 * @param onReplaced called with each board after a restore
 * @throws Problem SERVER_ALREADY_RUNNING, VALIDATION_FAILED for the folder of worktrees, CONFLICT when authentication is off but others
 * could reach it, or the error of listening (EADDRINUSE, ...)
 */
export async function startServer(
  given: ServerConfig,
  terminal: Log,
  onReplaced?: (app: App) => void,
): Promise<RunningServer> {
  const unlock = holdDataFolder(
    given.dataDir,
    () => `Another server uses ${given.dataDir}${describeHolder(given.dataDir)}.`,
  )
  let serving: BoardHost | undefined
  const logs = openLogs(given, terminal)
  try {
    const config = { ...given, ...takeWorktreeRoots(given) }
    serving = await BoardHost.open(config, logs, onReplaced)
    return await listenTo(serving, config, logs, unlock)
  } catch (error) {
    if (!(error instanceof Problem)) logs.aside('error', 'The server could not start.', { cause: causeOf(error) })
    await serving?.close()
    await logs.close()
    unlock()
    throw error
  }
}

async function listenTo(
  serving: BoardHost,
  config: ServerConfig,
  logs: Logs,
  unlock: () => void,
): Promise<RunningServer> {
  const { log } = logs
  const certificate = config.tls && (await readCertificate(config.tls))
  const { server, connections } = await openPort(serving, config, logs, certificate)
  const { port } = server.address() as { port: number }
  const here = `${schemeOf(config)}://${reachableAddress(config.host)}:${port}`
  const named = certificate && namedUrl(certificate, config, port)
  const url = named ?? here
  if (certificate && named === undefined)
    log('warn', 'The certificate does not contain an address of this server, so agents and scripts cannot reach it.', {
      url,
    })
  const acceptFromSandbox = (socket: Socket) => {
    markFromSandbox(socket)
    server.emit('connection', socket)
  }
  let stopping: Promise<void> | undefined
  const runtime = runtimeOf(config, {
    url: here,
    certificate: certificate?.pem,
    token: serving.app.identity.localToken,
  })
  try {
    leaveRuntime(config, runtime)
  } catch (error) {
    await closePort(server, connections)
    throw error
  }
  // From here on, the start cannot fail.
  serving.start({ url, acceptForBoard: acceptFromSandbox })
  if (config.tls)
    followCertificate(server as HttpsServer, config.tls, log, ({ pem }) => {
      if (!stopping) leaveRuntime(config, { ...runtime, certificate: pem })
    })
  await Promise.all([warnOfAddingRepositories(config, log), warnOfMissingGit(log)])
  log('info', 'The server has started.', { url, version, pid: process.pid, node: process.version })
  const stop = async () => {
    log('info', 'The server stops.')
    rmSync(runtimeFile(config.dataDir), { force: true })
    await Promise.all([serving.stopBackground(), closePort(server, connections)])
    await serving.close()
    log('info', 'The server has stopped.')
    await logs.close()
    unlock()
  }
  return {
    url,
    get app() {
      return serving.app
    },
    sockets: () => serving.sockets(),
    acceptFromSandbox,
    stop: () => (stopping ??= stop()),
  }
}

/** Opens the port, and sets limits that Node omits or sets too low. */
async function openPort(
  serving: BoardHost,
  config: ServerConfig,
  logs: Logs,
  certificate: Certificate | undefined,
): Promise<{ server: HttpServer; connections: ConnectionTimeouts }> {
  const requests = acceptFirst(serving.listen)
  const connections = createConnectionTimeouts(requests.listen)
  const listener = await listen(connections.listen, {
    hostname: config.host,
    port: { port: config.port, random: config.port === 0, ...noOtherPorts },
    // Without files, the listener would generate a certificate.
    https: config.tls ?? false,
    public: !isLoopbackHost(config.host),
    // The listener's banner goes to stdout and lists every address of the machine. The board answers only to configured addresses.
    showURL: false,
    qr: false,
    // The listener would run the program /tmp/xdg-open, which any account can create. cli/browser opens pages instead.
    open: false,
    autoClose: false,
    isProd: true,
    isTest: false,
    clipboard: false,
    ws: false,
  })
  const server = listener.server as HttpServer
  if (certificate) (server as HttpsServer).setSecureContext(certificate.options)
  connections.watch(server)
  requests.watch(server)
  handleMalformedRequests(server, createRequestLog(logs, false))
  // A large backup can take hours to arrive. Body readers have a separate idle timeout.
  server.requestTimeout = 6 * 3_600_000
  server.keepAliveTimeout = 65_000
  // By default, Node drops all headers after the thousandth, including Origin and X-Forwarded-For. Their size is limited to 16 KiB.
  server.maxHeadersCount = 0
  server.on('upgrade', (request, socket, head) => serving.handleUpgrade(request, socket, head))
  return { server, connections }
}

/** Accepts no more connections. Closes each connection when it becomes idle, and the others after `drainMs`. */
async function closePort(server: HttpServer, connections: ConnectionTimeouts): Promise<void> {
  const closed = new Promise(resolve => server.close(resolve))
  connections.closeHandshakes()
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const force = setTimeout(() => server.closeAllConnections(), drainMs)
  server.closeIdleConnections()
  await closed
  clearInterval(idle)
  clearTimeout(force)
}

const runtimeOf = ({ worktreeRoot }: ServerConfig, own: Pick<Runtime, 'url' | 'certificate' | 'token'>): Runtime => ({
  ...own,
  pid: process.pid,
  mark: processMark(process.pid),
  version,
  startedAt: new Date().toISOString(),
  args: servedWith(process.argv.slice(2)),
  worktreeRoot,
})

/** The arguments after `serve` on the command line. */
const servedWith = (argv: readonly string[]): string[] =>
  argv.includes('serve') ? argv.slice(argv.indexOf('serve') + 1) : []

/** Writes the file atomically: to a temporary file, which is then renamed. */
function leaveRuntime(config: ServerConfig, runtime: Runtime): void {
  const file = runtimeFile(config.dataDir)
  rmSync(`${file}.new`, { force: true })
  writeFileSync(`${file}.new`, `${JSON.stringify(runtime)}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(`${file}.new`, file)
}

/** Warns of folders of the board that `git add --all` of a repository around them would add. */
async function warnOfAddingRepositories(config: ServerConfig, log: Log): Promise<void> {
  for (const folder of boardFolders(config)) {
    const adding = await findAddingRepository(folder).catch(() => undefined)
    if (adding)
      log('warn', `A repository contains a folder of the board, and git add --all adds it: ${adding.advice}.`, {
        folder,
        repository: adding.topLevel,
      })
  }
}

async function warnOfMissingGit(log: Log): Promise<void> {
  if ((await findProgram('git', process.env.PATH ?? '')) === null)
    log('warn', `${gitMissing} Until then, cards have no worktrees, and agents cannot start in a repository.`)
}

function describeHolder(dataDir: string): string {
  try {
    const { pid, url } = JSON.parse(readFileSync(runtimeFile(dataDir), 'utf8')) as Runtime
    return ` (process ${pid}, ${url})`
  } catch {
    return ''
  }
}
