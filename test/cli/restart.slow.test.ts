import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine, type Going } from '../support/commands/commandLine.ts'
import { databaseOptions, untilOnDuty } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startOnTerminal, type OnTerminal } from '../support/terminals/onTerminal.ts'

const program = resolve(import.meta.dirname, '..', '..', 'bin', 'board.js')
const root = mkdtempSync(join(tmpdir(), 'board-again-'))
const servers: ChildProcess[] = []
let cli: CommandLine | undefined
let screens: OnTerminal[] = []
let mcp: Client | undefined

afterEach(async () => {
  await mcp?.close()
  for (const screen of screens) screen.close()
  screens = []
  cli?.close()
  for (const server of servers.splice(0)) await end(server, 'SIGTERM')
})
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  server.kill(signal)
  await once(server, 'exit')
}

interface Left {
  url: string
  token: string
  pid: number
}
/** Runs the built program as a server and returns the content of its daemon.json. */
async function serve(dataDir: string, port: string): Promise<Left & { server: ChildProcess }> {
  const options = ['--port', port, '--data-dir', dataDir, '--log-level', 'info', ...(await databaseOptions(dataDir))]
  const server = spawn(process.execPath, [program, 'serve', ...options], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: root },
  })
  servers.push(server)
  const file = join(dataDir, 'daemon.json')
  const left = await eventually('daemon.json', () => {
    const found = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Left) : undefined
    return found?.pid === server.pid ? found : undefined
  })
  await untilOnDuty(left.url, left.token)
  return { server, ...left }
}

interface Connected {
  ui: OnTerminal
  list: OnTerminal
  events: Going
  logs: Going
  waiting: Going
}
/** Starts all clients that stay connected, with only daemon.json to find the server, and waits until each is connected. */
async function connectAll(dataDir: string, cardId: string): Promise<Connected> {
  cli = commandLine({ BOARD_DATA_DIR: dataDir, BOARD_PROJECT: 'Kept' })
  const onScreen = (...args: string[]) => {
    const screen = startOnTerminal(process.execPath, [program, ...args], { cwd: cli!.home, env: cli!.env })
    screens.push(screen)
    return screen
  }
  const connected = {
    ui: onScreen('ui', '--ascii'),
    list: onScreen('cards', 'list', '--watch'),
    events: cli.start(['events', '--debug']),
    logs: cli.start(['logs', '-f']),
    waiting: cli.start(['cards', 'wait', cardId, '--for', 'completed', '--debug']),
  }
  mcp = new Client({ name: 'test', version: '1.0.0' })
  await mcp.connect(
    new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], env: cli.env, stderr: 'ignore' }),
  )
  await eventually('the board', () => connected.ui.text.includes('Waited for'))
  await eventually('the list', () => connected.list.text.includes('Waited for'))
  await eventually('the log', () => connected.logs.stdout.includes('The server has started.'))
  // The command reads the card to find it, and again to show it.
  await eventually('the wait', () => connected.waiting.stderr.split(`/cards/${cardId} 200`).length > 2)
  return connected
}

/** Creates cards until every follower has shown one, because a subscription can start after the first. */
async function untilSeen({ ui, list, events }: Connected, make: (title: string) => Promise<unknown>, word: string) {
  const before = [ui, list].map(({ text }) => text.length)
  let made = 0
  const seen = () =>
    [ui, list].every(({ text }, at) => text.slice(before[at]).includes(word)) && events.stdout.includes(word)
  await eventually(`a card "${word}" on every one that follows`, async () => {
    if (seen()) return true
    if (made < 20) await make(`${word} ${made++}`)
    await new Promise(done => setTimeout(done, 200))
    return seen()
  })
  return made
}

for (const [signal, how] of [
  ['SIGTERM', 'is stopped'],
  ['SIGKILL', 'is killed'],
] as const)
  test(`connected clients continue when the local server ${how} and starts again on another port`, async () => {
    const dataDir = join(root, signal)
    configure(dataDir, { quick: { fixture: 'well-behaved' } }, randomUUID())
    const first = await serve(dataDir, '0')
    const before = createClient(first)
    const { id: projectId } = await before.projects.create({ name: 'Kept', path: makeRepository(join(root, how)) })
    const active = (await before.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!
    const startAt = new Date(Date.now() + 3_600_000).toISOString()
    const card = { projectId, title: 'Waited for', agent: 'quick', columnId: active.id, startAt }
    const { id } = await before.cards.create(card)
    const connected = await connectAll(dataDir, id)
    await untilSeen(connected, title => before.cards.create({ projectId, title }), 'Earlier')

    await end(first.server, signal)
    const second = await serve(dataDir, '0')
    expect(second.token).not.toBe(first.token)
    const after = createClient(second)
    // The card created before the clients reconnect is caught up on.
    await after.cards.create({ projectId, title: 'Meanwhile' })
    await eventually('the missed event', () => connected.events.stdout.includes('Meanwhile'))
    await untilSeen(connected, title => after.cards.create({ projectId, title }), 'Later')
    await eventually(
      'the log of the second server',
      () => connected.logs.stdout.split('The server has started.').length === 3,
    )
    const { content } = (await mcp!.callTool({ name: 'get_card', arguments: { cardId: id } })) as {
      content: { text: string }[]
    }
    expect(JSON.parse(content[0]!.text)).toMatchObject({ title: 'Waited for' })

    await cli!.ok(['cards', 'run', id, '--force'])
    await eventually('the end of the wait', () => connected.waiting.code !== undefined)
    expect(connected.waiting).toMatchObject({ code: 0, stdout: expect.stringContaining(`${id}\tcompleted`) })
    expect([connected.events.code, connected.logs.code]).toEqual([undefined, undefined])
    const seqs = connected.events.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { type: string; seq: number })
      // A notification is not stored. It has the number of the event before it.
      .filter(({ type }) => type !== 'notification')
      .map(({ seq }) => seq)
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b))
  })

test('a token of another server is not read again for an explicit address', async () => {
  const [one, two] = [join(root, 'one'), join(root, 'two')]
  const [named, local] = [await serve(one, '0'), await serve(two, '0')]
  cli = commandLine({ BOARD_DATA_DIR: two, BOARD_URL: named.url, BOARD_TOKEN: local.token })
  expect(await cli.board(['whoami'])).toMatchObject({ code: 4 })
})
