import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient, type ApiFailure, type Client } from '../../src/client/index.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { isAlive } from '../support/processes/processFiles.ts'

/** The maximum number of open files, connections and pipes of the server. */
const maxDescriptors = 128

const root = mkdtempSync(join(tmpdir(), 'board-few-'))
const [dataDir, path, file] = [join(root, 'data'), join(root, 'project'), join(root, 'file')]
let child: ChildProcess
let server: { url: string; token: string; pid: number }
let client: Client
let projectId: string
let said = ''
const sockets: Socket[] = []

beforeAll(async () => {
  hideAgents(dataDir)
  mkdirSync(path)
  writeFileSync(file, 'x'.repeat(10_000))
  child = spawn(
    'sh',
    [
      '-c',
      `ulimit -n ${maxDescriptors}; exec "$@"`,
      'sh',
      process.execPath,
      resolve('bin/board.js'),
      'serve',
      '--port',
      '0',
      '--data-dir',
      dataDir,
    ],
    { env: { PATH: process.env.PATH, HOME: root }, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  child.stderr!.on('data', (text: Buffer) => {
    said += String(text)
  })
  server = await eventually('a server that answers', () => {
    try {
      return JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
    } catch {
      return undefined
    }
  })
  client = createClient(server)
  projectId = (await client.projects.create({ name: 'Few', path })).id
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  if (isAlive(server.pid)) process.kill(server.pid, 'SIGKILL')
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

const openFiles = () => readdirSync(`/proc/${server.pid}/fd`).length
/** Opens connections and sends no data on them. */
async function occupy(): Promise<void> {
  for (let at = 0; at < 2 * maxDescriptors; at++)
    sockets.push(
      connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {
        /* The server can drop it. */
      }),
    )
  await eventually('a server without a descriptor to spare', () => openFiles() >= maxDescriptors - 1)
}
function letGo(): void {
  for (const socket of sockets.splice(0)) socket.destroy()
}

/** Operations that need descriptors: files, folders, threads, processes, connections. */
const works = (cardId: string, scriptId: string, activeId: string): Array<() => Promise<unknown>> => [
  () => client.cards.create({ projectId, title: 'another', deferred: true }),
  () => client.attachments.create({ projectId, cardId, file: { path: file } }),
  () => client.backups.create(),
  () => client.scripts.run({ projectId, scriptId }),
  () =>
    client.cards.create({ projectId, title: 'a command', kind: 'terminal', command: 'echo done', columnId: activeId }),
  () => client.logs.list({}),
  () => client.filesystem.browse({ path }),
  () => client.projects.files({ projectId }),
  async () => buffer((await client.transfers.exportProject({ id: projectId })).body),
  () => client.auth.login({ email: 'nobody@example.org', password: 'a long password' }),
  async () => buffer((await client.server.metrics()).body),
]
const outcome = (work: () => Promise<unknown>): Promise<string> =>
  work().then(
    () => 'done',
    (error: Partial<ApiFailure>) => error.code ?? 'no answer',
  )

it('a server at its file limit serves its open connections, answers or drops others, and recovers when the limit rises', async () => {
  const live = await follow(server.url, server.token, projectId)
  const { id: cardId } = await client.cards.create({ projectId, title: 'a card', deferred: true })
  const { id: scriptId } = await client.scripts.create({ projectId, name: 'brief', command: 'echo done' })
  const activeId = (await client.columns.list({ projectId }))[1]!.id
  await eventually('a server with all lazy modules loaded', () =>
    readFileSync(`/proc/${server.pid}/maps`, 'utf8').includes('argon2'),
  )
  await occupy()
  for (const work of works(cardId, scriptId, activeId)) {
    // A finished operation frees descriptors briefly, and the waiting connections use them.
    expect(
      await outcome(() =>
        Promise.race([
          work(),
          delay(10_000).then(() => {
            throw Object.assign(new Error(), { code: 'it hangs' })
          }),
        ]),
      ),
    ).not.toBe('it hangs')
    expect(isAlive(server.pid), said).toBe(true)
  }
  await eventually('an event on an open connection', () => live.messages.some(({ type }) => type === 'card.created'))
  expect(live.closed).toBeUndefined()
  letGo()
  await eventually('room', () => openFiles() < maxDescriptors / 2, 10_000)
  await eventually(
    'the end of the script',
    async () => (await client.scripts.status({ projectId }))[0]!.status !== 'running',
  )
  const [notAFolder, wrong] = ['NOT_A_GIT_REPOSITORY', 'INVALID_CREDENTIALS']
  expect(
    await works(cardId, scriptId, activeId).reduce(
      async (all, work) => [...(await all), await outcome(work)],
      Promise.resolve([] as string[]),
    ),
  ).toEqual(['done', 'done', 'done', 'done', 'done', 'done', 'done', notAFolder, 'done', wrong, 'done'])
  await eventually(
    'the end of the script',
    async () => (await client.scripts.status({ projectId }))[0]!.status === 'succeeded',
  )
  await eventually('the end of a command', async () =>
    (await client.cards.list({ projectId, kind: 'terminal' })).some(({ status }) => status === 'completed'),
  )
  live.close()
})
