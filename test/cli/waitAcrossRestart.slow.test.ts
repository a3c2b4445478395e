import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { databaseOptions } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'board-restart-'))
const dataDir = join(root, 'data')
const program = resolve(import.meta.dirname, '..', '..', 'bin', 'board.js')
const servers: ChildProcess[] = []
let cli: CommandLine | undefined

afterEach(async () => {
  for (const child of servers.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
})
afterAll(() => {
  cli?.close()
  rmSync(root, { recursive: true, force: true, maxRetries: 5 })
})

/** Runs the built program as a server on the data folder and returns its address once it listens. */
async function serve(port: string): Promise<{ server: ChildProcess; url: string }> {
  const server = spawn(
    process.execPath,
    [program, 'serve', '--port', port, '--data-dir', dataDir, ...(await databaseOptions(dataDir))],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env.PATH, HOME: root } },
  )
  servers.push(server)
  let told = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  return { server, url: await eventually('the address', () => /http:\/\/[\d.:]+/.exec(told)?.[0], 20_000) }
}

test('commands that wait report the end of the server once, and exit with 7 after --reconnect', async () => {
  configure(dataDir, { endless: { fixture: 'forever' } }, randomUUID())
  const { server, url } = await serve('0')
  const { token } = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
  const client = createClient({ url, token })
  const { id: projectId } = await client.projects.create({ name: 'Lost', path: makeRepository(join(root, 'lost')) })
  const columnId = (await client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!.id
  const { id } = await client.cards.create({ projectId, title: 'Lost', columnId, agent: 'endless' })
  const followed = await client.cards.create({ projectId, title: 'Followed', agent: 'endless' })
  const script = await client.scripts.create({ projectId, name: 'long', command: 'sleep 60' })
  const own = commandLine({ BOARD_URL: url, BOARD_TOKEN: token, BOARD_PROJECT: projectId })
  try {
    const commands = [
      ['cards', 'wait', id, '--for', 'completed'],
      ['cards', 'run', followed.id, '--follow'],
      ['scripts', 'run', script.id, '--exit-status'],
    ].map(words => own.start([...words, '--reconnect', '2s', '--debug']))
    await eventually('the wait', () => commands[0]!.stderr.split(`/cards/${id} 200`).length > 2, 15_000)
    await eventually('the run', () => commands[1]!.stderr.split('/agent/messages').length > 2, 15_000)
    await eventually('the script', () => commands[2]!.stderr.includes('/status'), 15_000)
    server.kill('SIGKILL')
    for (const command of commands) {
      await eventually('the end', () => command.code !== undefined, 20_000)
      expect(command.stderr.split('connecting again'), command.stderr).toHaveLength(2)
      expect(command.stderr).toContain('the server did not respond for 2 s')
      expect(command.code).toBe(7)
    }
  } finally {
    own.close()
  }
})

test('waiting and following continue after the death of the server, and report the result of the card', async () => {
  configure(dataDir, { endless: { fixture: 'forever' } }, randomUUID())
  const first = await serve('0')
  const client = createClient({
    url: first.url,
    token: JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8')).token,
  })
  const { id: projectId } = await client.projects.create({
    name: 'Restarted',
    path: makeRepository(join(root, 'repository')),
  })
  const { key } = await client.keys.create({
    name: 'cron',
    scope: 'project',
    projectId,
    permissions: ['cards.read', 'agents.read'],
  })
  const columnId = (await client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!.id
  const { id } = await client.cards.create({ projectId, title: 'Struck', columnId, agent: 'endless' })

  cli = commandLine({ BOARD_URL: first.url, BOARD_TOKEN: key, BOARD_PROJECT: projectId })
  const following = cli.start(['agents', 'messages', id, '-f', '--json'])
  const waiting = cli.start(['cards', 'wait', id, '--exit-status', '--debug'])
  await eventually('a message', () => following.stdout !== '', 15_000)
  // The command reads the card to find it, and again to show it.
  await eventually('the wait', () => waiting.stderr.split(`/cards/${id} 200`).length > 2, 15_000)

  first.server.kill('SIGKILL')
  await once(first.server, 'exit')
  await eventually('word of the break', () => following.stderr.includes('connecting again'), 10_000)
  await serve(new URL(first.url).port)
  await eventually('the end of the wait', () => waiting.code !== undefined, 30_000)
  expect(waiting).toMatchObject({ code: 1, stdout: `${id}\tinterrupted\tserver_restart\tStruck\n` })
  await eventually('word of the end', () => following.stderr.includes('interrupted: server_restart'), 20_000)
})

/** Forwards connections to a server, and closes those with a request for messages while `isCutting`, except the first. */
async function cuttingProxy(
  url: string,
): Promise<{ url: string; cut: { isCutting: boolean; count: number }; close: () => void }> {
  const cut = { isCutting: true, count: -1 }
  const sockets = new Set<Socket>()
  const proxy = createServer(near => {
    const far = connect(Number(new URL(url).port), '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
    far.pipe(near)
    near.on('data', (chunk: Buffer) => {
      if (chunk.includes('/agent/messages')) cut.count += 1
      if (cut.isCutting && cut.count > 0 && chunk.includes('/agent/messages')) near.destroy()
      else far.write(chunk)
    })
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const close = () => {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  }
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, cut, close }
}

test('cards run --follow reads messages again if the server went away during the reading', async () => {
  configure(dataDir, { endless: { fixture: 'forever' } }, randomUUID())
  const { url } = await serve('0')
  const { token } = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
  const client = createClient({ url, token })
  const { id: projectId } = await client.projects.create({ name: 'Cut', path: makeRepository(join(root, 'cut')) })
  const { id } = await client.cards.create({ projectId, title: 'Cut', agent: 'endless' })
  const proxy = await cuttingProxy(url)
  const own = commandLine({ BOARD_URL: proxy.url, BOARD_TOKEN: token, BOARD_PROJECT: projectId })
  try {
    // The first read is that of the last message before the start.
    const following = own.start(['cards', 'run', id, '--follow'])
    await eventually('the cut', () => proxy.cut.count > 2 || following.code !== undefined, 20_000)
    expect(following.code).toBeUndefined()
    expect(following.stdout).toBe('')
    proxy.cut.isCutting = false
    await eventually('a message', () => following.stdout !== '', 15_000)
    await client.cards.complete({ projectId, cardId: id })
    await eventually('the end', () => following.code !== undefined, 15_000)
    expect(following.code, following.stderr).toBe(0)
  } finally {
    own.close()
    proxy.close()
  }
})
