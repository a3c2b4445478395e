import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createClient, type Client } from '../../src/client/index.ts'
import { drive } from '../bench/load.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { isAlive } from '../support/processes/processFiles.ts'

/** The number of logged requests while the output is not read. For longer runs: BOARD_TEST_REQUESTS. */
const minRequests = Number(process.env.BOARD_TEST_REQUESTS ?? 15_000)
const maxMoreMiB = 100

let root: string
let dataDir: string
let shell: ChildProcess
let server: { url: string; token: string; pid: number }
let client: Client
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-pipes-'))
  dataDir = join(root, 'data')
  hideAgents(dataDir)
})
afterEach(() => {
  for (const pid of [server.pid, shell.pid!]) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

/** Starts the program in a shell, which gets it as "$@". */
async function start(line: string, stdio: StdioOptions = ['ignore', 'pipe', 'pipe']): Promise<void> {
  shell = spawn(
    'sh',
    [
      '-c',
      line,
      'sh',
      process.execPath,
      resolve('bin/board.js'),
      'serve',
      '--port',
      '0',
      '--data-dir',
      dataDir,
      '--log-level',
      'info',
    ],
    { env: { PATH: process.env.PATH, HOME: root }, stdio },
  )
  server = await eventually('a server that answers', () => {
    try {
      return JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
    } catch {
      return undefined
    }
  })
  client = createClient(server)
}

/** Expects that the server works regardless of its output, and stops on request. */
async function expectWell(): Promise<void> {
  for (let at = 0; at < 50; at++) await client.templates.create({ name: `Template ${at}`, columns: [] })
  expect((await client.templates.list()).filter(({ builtin }) => !builtin)).toHaveLength(50)
  process.kill(server.pid, 'SIGTERM')
  await eventually('the end of the server', () => !isAlive(server.pid), 10_000)
  expect(loggedLines().some(line => line.includes('The server has stopped.'))).toBe(true)
}

const loggedLines = () => readFileSync(join(dataDir, 'logs', 'board.log'), 'utf8').split('\n')
const residentMiB = () => Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) / 1024

it.each([
  ['whose reader exits after the first line', '"$@" | head -1', 'Listening on'],
  ['without a reader', '"$@" | true', ''],
  ['whose reader of both streams reads one line', '"$@" 2>&1 | head -1', ''],
  ['without any output', 'exec "$@" >&- 2>&-', ''],
])('a server %s continues to work', async (_, line, said) => {
  await start(line)
  let out = ''
  shell.stdout!.on('data', (text: Buffer) => {
    out += String(text)
  })
  await expectWell()
  expect(out).toContain(said)
})

it('a server whose output is not read answers as before, buffers little of it, and reports the number of dropped lines when it is read again', async () => {
  await start('exec "$@" 2>&1')
  const load = () =>
    drive({
      port: Number(new URL(server.url).port),
      clients: 8,
      durationMs: 1000,
      token: server.token,
      next: () => ({ method: 'GET', path: '/api/auth/me' }),
    })
  await load()
  const before = residentMiB()
  let requests = 0
  while (requests < minRequests) requests += (await load()).requests
  const after = residentMiB()
  const tookMs = performance.now()
  await client.server.health()
  expect(performance.now() - tookMs).toBeLessThan(1000 * slowdown())
  let out = ''
  shell.stdout!.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  await eventually('the report on dropped lines', async () => {
    await client.server.health()
    return /(\d+) entries of the log could not be shown here/.test(out)
  })
  const shown = out
    .split('\n')
    .slice(0, -1)
    .filter(line => !line.startsWith('Listening on'))
    .map(line => JSON.parse(line) as { message: string; count?: number })
  const dropped = shown.reduce((sum, { count = 0 }) => sum + count, 0)
  process.stdout.write(
    `${requests} requests: ${dropped} of their entries dropped, ${(after - before).toFixed(0)} MiB more memory\n`,
  )
  expect(dropped).toBeGreaterThan(0)
  expect(shown.length + dropped).toBeGreaterThan(requests)
  expect(after - before).toBeLessThan(maxMoreMiB)
})
