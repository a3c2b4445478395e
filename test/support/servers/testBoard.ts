import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { builtIn } from '../../../src/agents/providers/builtInProviders.ts'
import { createClient, type Client } from '../../../src/client/index.ts'
import { serverDefaults, type ServerConfig } from '../../../src/config/server.ts'
import { createStderrLog } from '../../../daemon/process/stderrLog.ts'
import { startServer, type RunningServer } from '../../../daemon/process/startServer.ts'
import { undeclaredAnswers, type Refusal } from '../contract/declared.ts'
import type { LibsqlServer } from './libsqlServer.ts'
import { eventually } from '../waiting/eventually.ts'
import { reportSkipped } from '../run/reportSkipped.ts'
import { provideDatabase } from './migratedDatabase.ts'
import { retryingClient, retryRefusedWrite } from './writeRetry.ts'

/** The default sandbox setting of test servers: BOARD_TEST_SANDBOX=on puts all agents in the sandbox. */
export const testSandbox = process.env.BOARD_TEST_SANDBOX === 'on' ? 'require' : 'off'

/** A real server on a new data folder and port. */
export interface TestBoard {
  url: string
  dataDir: string
  /** The local token: acts as super_admin. */
  token: string
  /** The typed client of the local operator. */
  client: Client
  server: RunningServer
  /** The typed client of another token, or without one. */
  as(token?: string): Client
  /** Sends one plain request, and returns status, headers and parsed body. */
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>
  /** Creates an empty folder, which is deleted with the server. */
  folder(name: string): string
  /** The content of its database files, wherever they are, one character per byte. */
  stored(): string
  /** The failures that `request` was answered. */
  refusals: readonly Refusal[]
  /** Stops the server, and asserts that the OpenAPI document lists all its responses. */
  close(): Promise<void>
}
export interface RequestOptions {
  token?: string | null
  body?: unknown
  raw?: string | Uint8Array
  headers?: Record<string, string>
}
export interface Reply {
  status: number
  headers: Headers
  text: string
  body: any
}

/**
 * Starts a server in this process, without agents unless the data folder configures some, and with webhooks allowed to this machine.
 * @param config overrides the defaults
 * @param agents configured agents, by ID
 */
export async function startBoard(
  config: Partial<ServerConfig> = {},
  agents: ConfiguredAgents = {},
): Promise<TestBoard> {
  const root = mkdtempSync(join(tmpdir(), 'board-test-'))
  const dataDir = config.dataDir ?? join(root, 'data')
  hideAgents(dataDir, agents)
  const shared = onLibsqlServer && config.database === undefined ? await databaseOf(dataDir) : undefined
  if (!shared && config.database === undefined) await provideDatabase(dataDir)
  const server = await startServer(
    {
      ...serverDefaults,
      sandbox: testSandbox,
      port: 0,
      logLevel: 'error',
      allowPrivateWebhooks: true,
      webRoot: resolve('dist/web'),
      docsRoot: resolve('docs'),
      ...config,
      ...(shared && { database: { url: shared.url, host: 'one' } }),
      dataDir,
    },
    createStderrLog(config.logLevel ?? 'error'),
  ).catch((error: unknown) => {
    rmSync(root, { recursive: true, force: true })
    throw error
  })
  const token = server.app.identity.localToken
  const as: TestBoard['as'] = other =>
    shared
      ? retryingClient(createClient({ url: server.url, token: other }))
      : createClient({ url: server.url, token: other })
  const refusals: Refusal[] = []
  const send: TestBoard['request'] = async (method, path, options) => {
    const reply = await request(server.url, method, path, { token, ...options })
    const code: unknown = reply.body?.error?.code
    if (typeof code === 'string') refusals.push({ method, path, status: reply.status, code })
    return reply
  }
  // A daemon takes over its duties soon after its start; alone on its database it has them before.
  if (shared)
    await eventually('the duties', () => server.app.membership.has('machine') && server.app.membership.has('board'))
  return {
    url: server.url,
    dataDir,
    token,
    server,
    client: as(token),
    as,
    request: shared ? (...asked) => retryRefusedWrite(() => send(...asked)) : send,
    folder: name => {
      const folder = join(root, name)
      mkdirSync(folder, { recursive: true })
      return folder
    },
    stored: () =>
      (shared
        ? shared.files()
        : readdirSync(dataDir)
            .filter(name => name.startsWith('board.db'))
            .map(name => join(dataDir, name))
      )
        .map(path => readFileSync(path, 'latin1'))
        .join(''),
    refusals,
    close: async () => {
      const undeclared = await undeclaredAnswers({ server, refusals }).catch(() => [])
      await server.stop()
      if (dataDir.startsWith(root)) await forgetDatabaseOf(dataDir)
      rmSync(root, { recursive: true, force: true })
      if (undeclared.length > 0)
        throw new Error(`The OpenAPI document does not name these answers:\n${undeclared.join('\n')}`)
    },
  }
}

/** Starts a server with a project named work. */
export async function startBoardWithProject(): Promise<{ board: TestBoard; projectId: string }> {
  const board = await startBoard()
  return { board, projectId: (await board.client.projects.create({ name: 'work', path: board.folder('work') })).id }
}

/** Whether the boards of this run keep their databases on libSQL servers: the same tests apply to them. */
export const onLibsqlServer = process.env.BOARD_TEST_DATABASE === 'sqld'
if (onLibsqlServer) reportSkipped('Restores by a server', 'a board on a libSQL server is restored while no server runs')

/** A board that is restarted on its data folder uses its database again. */
const databases = new Map<string, LibsqlServer>()
async function databaseOf(dataDir: string): Promise<LibsqlServer> {
  const { startLibsqlServer } = await import('./libsqlServer.ts')
  const server = databases.get(dataDir) ?? (await startLibsqlServer())
  databases.set(dataDir, server)
  return server
}

/** The options of `board serve` if the boards of this run keep their databases on libSQL servers. */
export async function databaseOptions(dataDir: string): Promise<string[]> {
  return onLibsqlServer ? ['--database', (await databaseOf(dataDir)).url, '--machine', 'one'] : []
}

/** A server that shares its database takes over its duties after its start, and those of a killed one some seconds later. */
export async function untilOnDuty(url: string, token: string): Promise<void> {
  const figures = async () => (await request(url, 'GET', '/metrics', { token })).text
  if (onLibsqlServer)
    await eventually(
      'the duties',
      async () => (await figures()).split('\n').filter(line => /^board_duties.* 1$/.test(line)).length === 2,
    )
}

async function forgetDatabaseOf(dataDir: string): Promise<void> {
  await databases.get(dataDir)?.close()
  databases.delete(dataDir)
}
if (onLibsqlServer)
  process.on('exit', () => {
    for (const server of databases.values()) server.process().kill('SIGKILL')
  })

/** A configured agent that is not installed. */
export const missingAgent = { command: ['/nonexistent/agent'] }
/** The built-in agents as not installed, regardless of this machine. */
export const withheldAgents = Object.fromEntries(builtIn.map(({ id }) => [id, missingAgent]))

type ConfiguredAgents = Record<string, { command: readonly string[]; env?: Readonly<Record<string, string>> }>

/** Prevents agents that are installed on this machine from working on the cards of a test. An existing configuration is kept. */
export function hideAgents(dataDir: string, others: ConfiguredAgents = {}): void {
  const file = join(dataDir, 'config.json')
  if (existsSync(file)) return
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  writeFileSync(file, JSON.stringify({ agents: { ...withheldAgents, ...others } }))
}

/** Sends one request with node:http, which takes a quarter of the time of `fetch`. */
export function request(
  url: string,
  method: string,
  path: string,
  { token, body, raw = body === undefined ? undefined : JSON.stringify(body), headers = {} }: RequestOptions,
): Promise<Reply> {
  const all = {
    accept: '*/*',
    ...(token && { authorization: `Bearer ${token}` }),
    ...(raw !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(raw)) }),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const outgoing = requestHttp(new URL(url + path), { method, headers: all }, async incoming => {
      const content = await text(incoming)
      resolve({ status: incoming.statusCode!, headers: headersOf(incoming), text: content, body: parse(content) })
    })
    outgoing.on('error', reject)
    outgoing.end(raw)
  })
}

const headersOf = ({ rawHeaders }: IncomingMessage): Headers =>
  new Headers(rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1]!] as [string, string]] : [])))

const parse = (text: string): any => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
