import { accessSync, chmodSync, constants, readdirSync, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { send } from '../../src/client/http.ts'
import type { ServerProgram } from '../../src/config/serverProgram.ts'
import type { BoundsStatus } from '../../src/contract/agents/sandbox.ts'
import { createClient, type Client, type Connection } from '../../src/client/index.ts'
import { Failure } from '../failures/failure.ts'
import { findLocalServer, forgetStale, type LocalServer } from '../context/localServer.ts'

export interface Finding {
  check: string
  result: 'ok' | 'warning' | 'failed'
  /** The result in words. */
  detail: string
  /** The recommended fix. */
  advice?: string
  /** Fixes the problem. Returns a description of the fix. */
  fix?: () => string
}
export interface CheckupOptions {
  version: string
  connection?: Connection
  /** Whether the connection is that of this machine's server, which might not run. */ isLocal: boolean
  findDamage(path: string): Promise<string | undefined>
  /** Finds the repository that would add a folder's files. */
  findAddingRepository: ServerProgram['findAddingRepository']
}

const minNodeVersion = [20, 19] as const
const minGitVersion = [2, 38] as const
const scarceBytes = 1024 ** 3
const maxSkewSecs = 30
const usualPort = 4400

/** Checks the prerequisites of a board on this machine, or of the server that the command line uses. */
export async function checkUp(options: CheckupOptions): Promise<Finding[]> {
  const local = await findLocalServer()
  const findings = [
    node(),
    await git(),
    ...(await folder(local)),
    ...(await repositories(local, options)),
    ...(await database(local, options)),
    await port(local),
    ...(await server(options.isLocal && local.state !== 'running' ? { ...options, connection: undefined } : options)),
  ]
  return findings
}

function node(): Finding {
  return isAtLeast(process.versions.node, minNodeVersion)
    ? ok('Node', process.version)
    : toFailure('Node', `${process.version} is too old`, `install Node ${minNodeVersion.join('.')} or later`)
}

async function git(): Promise<Finding> {
  const versionText = await readOutput('git', ['--version'])
  if (versionText === undefined)
    return toFailure('Git', 'is not installed', 'install Git: agents work in Git worktrees')
  const version = /\d+\.\d+(\.\d+)?/.exec(versionText)?.[0] ?? ''
  return isAtLeast(version, minGitVersion)
    ? ok('Git', version)
    : warning('Git', `${version} cannot merge cards`, `install Git ${minGitVersion.join('.')} or later`)
}

async function folder({ dataDir, state, runtime }: LocalServer): Promise<Finding[]> {
  const stat = statOf(dataDir)
  if (!stat) return [ok('data folder', `${dataDir} does not exist yet; the first board serve creates it`)]
  const open = [
    dataDir,
    ...['board.db', 'secret.key', 'daemon.json', 'config.json'].map(name => join(dataDir, name)),
  ].filter(path => ((statOf(path)?.mode ?? 0) & 0o077) !== 0)
  const locked = readOnlyPart(dataDir)
  return [
    ...(locked === undefined
      ? []
      : [
          toFailure(
            'data folder',
            `${locked} cannot be written`,
            'make this account its owner, or mount its disk as writable: no server can start here',
          ),
        ]),
    open.length === 0 || process.platform === 'win32'
      ? ok('permissions', `only you can read ${dataDir}`)
      : toFailure('permissions', `others can read ${open.join(', ')}`, `chmod go-rwx ${open.join(' ')}`, () => {
          for (const path of open) chmodSync(path, statSync(path).mode & 0o700)
          return `removed the access of other accounts to ${open.length} ${open.length === 1 ? 'path' : 'paths'}`
        }),
    space('disk space', dataDir, 'free disk space: the board cannot write to a full disk'),
    ...(state === 'running' && runtime?.worktreeRoot !== undefined ? [worktreeRoot(runtime.worktreeRoot)] : []),
    ...(state === 'stale'
      ? [
          warning('daemon.json', 'is left from a server that was killed', 'board server start replaces it', () => {
            forgetStale(dataDir)
            return 'removed it'
          }),
        ]
      : []),
  ]
}

/** The data folder, or its database, if this account cannot write it. */
function readOnlyPart(dataDir: string): string | undefined {
  return [dataDir, join(dataDir, 'board.db')].find(path => {
    try {
      if (statOf(path)) accessSync(path, constants.W_OK)
      return false
    } catch {
      return true
    }
  })
}

/** Checks that no repository adds the files of the board. */
async function repositories({ dataDir, runtime }: LocalServer, options: CheckupOptions): Promise<Finding[]> {
  const folders = [dataDir, ...(runtime?.worktreeRoot === undefined ? [] : [runtime.worktreeRoot])]
  const findings = await Promise.all(
    folders.map(async (path): Promise<Finding[]> => {
      const found = await options.findAddingRepository(path).catch(() => undefined)
      return found
        ? [warning('repository', `${found.topLevel} contains ${path}, and git add --all adds it`, found.advice)]
        : []
    }),
  )
  return findings.flat()
}

function space(check: string, path: string, advice: string): Finding {
  const { bavail, bsize } = statfsSync(path)
  const bytes = bavail * bsize
  return bytes < scarceBytes
    ? warning(check, `${megabytes(bytes)} left for ${path}`, advice)
    : ok(check, `${megabytes(bytes)} left`)
}

const worktreeRoot = (path: string): Finding =>
  statOf(path)
    ? space('worktrees', path, 'free disk space, or serve with another --worktree-root: existing worktrees stay')
    : toFailure('worktrees', `${path} no longer exists`, 'restore it, or serve with another --worktree-root')

async function database({ dataDir }: LocalServer, { findDamage }: CheckupOptions): Promise<Finding[]> {
  const path = join(dataDir, 'board.db')
  if (!statOf(path))
    return statOf(dataDir) && readdirSync(dataDir).includes('attachments')
      ? [
          toFailure(
            'database',
            `${path} is missing, but its attachments exist`,
            'restore a backup: board backups restore <file>',
          ),
        ]
      : []
  const damage = await findDamage(path).catch((error: Error) => error.message)
  return [
    damage === undefined
      ? ok('database', `${path} holds together`)
      : toFailure(
          'database',
          `${path} is damaged: ${damage.slice(0, 200)}`,
          'stop the server and restore a backup: board backups restore <file>',
        ),
  ]
}

async function port({ state, runtime }: LocalServer): Promise<Finding> {
  if (state === 'running') return ok('port', `a server runs at ${runtime!.url}`)
  const code = await new Promise<string | undefined>(resolve => {
    const probe = createServer()
      .once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      .listen(usualPort, '127.0.0.1', () => probe.close(() => resolve(undefined)))
  })
  return code === undefined
    ? ok('port', `${usualPort} is free, and no server is running`)
    : warning('port', `${usualPort} is in use by another program (${code})`, 'choose another: board serve --port 4500')
}

async function server({ connection, version }: CheckupOptions): Promise<Finding[]> {
  if (!connection)
    return [
      warning(
        'server',
        'none is selected, and none is running on this machine',
        'board server start, or board auth login --url <address>',
      ),
    ]
  const client = createClient(connection)
  try {
    const askedAtMs = Date.now()
    const { headers } = await send(connection, 'GET', '/api/health')
    const health = await client.server.health()
    const skewSecs = Math.round(Math.abs(Date.parse(String(headers.date)) - askedAtMs) / 1000)
    return [
      health.version === version
        ? ok('server', `${connection.url} answers, version ${version}`)
        : warning(
            'server',
            `${connection.url} is version ${health.version}, and this program ${version}`,
            'use the same version on both sides',
          ),
      Number.isNaN(skewSecs) || skewSecs <= maxSkewSecs
        ? ok('clock', "is the server's, within seconds")
        : warning(
            'clock',
            `is ${skewSecs} s away from the server's`,
            'synchronize it with network time: tokens expire by the clock',
          ),
      await writable(client),
      ...(await signIn(client, connection)),
    ]
  } catch (error) {
    return [
      toFailure(
        'server',
        `${connection.url} does not answer: ${(error as Error).message}`,
        'board server start, or name another with --url',
      ),
    ]
  }
}

const writable = (client: Client): Promise<Finding> =>
  client.server.ready().then(
    () => ok('writing', "the server's database accepts writes"),
    (error: Error) => toFailure('writing', error.message, 'see: board server logs'),
  )

async function signIn(client: Client, { token }: Connection): Promise<Finding[]> {
  if (token?.startsWith('svc_ak_')) return [ok('sign-in', 'an API key')]
  try {
    const { email, role } = await client.auth.me()
    const installed = (await client.agents.providers()).filter(provider => provider.installed).map(({ id }) => id)
    const sandbox = await client.agents.sandbox()
    return [
      ok('sign-in', `${email || 'the operator of this machine'}, ${role}`),
      installed.length > 0
        ? ok('agents', installed.join(', '))
        : warning('agents', 'none is installed on the server', 'to install one, see: board agents providers'),
      sandbox.kind === 'none'
        ? warning('sandbox', sandbox.reason ?? 'there is none', sandbox.advice ?? 'board serve --help')
        : ok('sandbox', sandbox.kind),
      ok('previews', previewReach[sandbox.kind === 'bwrap' ? 'isolated' : 'shared']),
      boundsOf(sandbox.bounds),
    ]
  } catch (error) {
    if (error instanceof Failure) throw error
    return [toFailure('sign-in', (error as Error).message, 'board auth login')]
  }
}

/** Whether other accounts can reach the programs of previews without the proxy. */
const previewReach = {
  isolated: 'only the server reaches their programs, except those of projects with the network full',
  shared: 'other accounts of this machine can reach their programs, because there is no bubblewrap',
}

/** Without control groups, reports advice instead of a warning, because counting every second is sufficient for many servers. */
function boundsOf({ kind, reason, advice, defaults: { memoryMiB, processes } }: BoundsStatus): Finding {
  const limits = `${memoryMiB} MB of memory and ${processes} processes`
  return kind === 'cgroup'
    ? ok('bounds', `${limits} per session by default: the kernel enforces the limits of each session (cgroup)`)
    : {
        ...ok(
          'bounds',
          `this machine cannot enforce the defaults (${limits} per session); the server checks the limits that a project sets every second (watched): ${reason}`,
        ),
        ...(advice !== null && { advice }),
      }
}

const ok = (check: string, detail: string): Finding => ({ check, result: 'ok', detail })
const warning = (check: string, detail: string, advice: string, fix?: () => string): Finding => ({
  check,
  result: 'warning',
  detail,
  advice,
  fix,
})
const toFailure = (check: string, detail: string, advice: string, fix?: () => string): Finding => ({
  check,
  result: 'failed',
  detail,
  advice,
  fix,
})
const megabytes = (bytes: number): string =>
  bytes >= 10 * 1024 ** 3 ? `${Math.round(bytes / 1024 ** 3)} GB` : `${Math.round(bytes / 1024 ** 2)} MB`
const statOf = (path: string) => statSync(path, { throwIfNoEntry: false })

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number)
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}

async function readOutput(file: string, args: string[]): Promise<string | undefined> {
  const { execa } = await import('execa')
  const { exitCode, stdout } = await execa(file, args, { timeout: 5000, reject: false })
  return exitCode === 0 ? stdout : undefined
}
