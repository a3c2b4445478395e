import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'
import { childrenOf, isAlive, processesWith, readProcessFile, statOf } from '../support/processes/processFiles.ts'
import { figuresOf } from '../support/run/writtenFigures.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'

const goneWithinMs = 2000
const goneAfter: number[] = []
const note = figuresOf('test/e2e/watchdog.slow.test.ts')
/** A word in the watchdog's command line, both as a shell and as Node. */
const watchdogWord = 'watchdog'

interface Watched {
  board: BoardProcess
  root: string
  /** Starts a card's agent, and waits for its first message. */
  begin(agent: string): Promise<string>
  card(cardId: string): ReturnType<BoardProcess['client']['cards']['get']>
  /** Starts a fetch of the base from a remote that does not answer, for a new card, and waits until the remote gets the request. */
  beginFetch(): Promise<void>
  /** Agents and their tools. */
  processes(): number[]
  /** All processes with its home folder, except the server. */
  others(): number[]
  watchdog(): number | undefined
}

const boards: Watched[] = []
let one: Watched

async function startBoard(): Promise<Watched> {
  const root = mkdtempSync(join(tmpdir(), 'board-watched-'))
  const [dataDir, mark] = [join(root, 'data'), randomUUID()]
  const board = boardProcess(dataDir, { HOME: root }, ['--agent-slots', '4', '--log-level', 'warn'])
  configure(dataDir, { setsid: { fixture: 'setsid-grandchild' }, deaf: { fixture: 'ignores-term' } }, mark)
  await board.start()
  const path = makeRepository(join(root, 'repository'))
  const { id: projectId } = await board.client.projects.create({ name: 'Watched', path })
  const columns = await board.client.columns.list({ projectId })
  const columnId = columns.find(({ columnType }) => columnType === 'active')!.id
  const watched: Watched = {
    board,
    root,
    card: cardId => board.client.cards.get({ projectId, cardId }),
    // The bubblewrap processes keep a session's namespace alive.
    processes: () => processesWith(mark).filter(pid => isAlive(pid) && !commandLine(pid).startsWith('bwrap')),
    others: () => processesWith(`HOME=${root}\0`).filter(pid => isAlive(pid) && pid !== board.pid),
    watchdog: () => childrenOf(board.pid).find(pid => isAlive(pid) && commandLine(pid).includes(watchdogWord)),
    begin: async agent => {
      const { id } = await board.client.cards.create({ projectId, title: agent, prompt: 'Work.', columnId, agent })
      const messages = () => board.client.agents.messages({ projectId, cardId: id })
      await eventually('a word of the agent', async () => (await messages()).some(({ role }) => role === 'agent'))
      return id
    },
    beginFetch: async () => {
      const [ssh, asked] = [join(root, 'ssh'), join(root, 'asked')]
      writeFileSync(ssh, `#!/bin/sh\nsetsid sleep 600 &\ntouch '${asked}'\nexec sleep 600\n`, { mode: 0o755 })
      writeFileSync(join(root, '.gitconfig'), `[core]\n\tsshCommand = ${ssh}\n`)
      const git = (...args: string[]) => execFileSync('git', ['-C', path, ...args])
      git('remote', 'add', 'origin', 'ssh://host/x.git')
      git('update-ref', 'refs/remotes/origin/main', 'HEAD')
      git('branch', '--quiet', '--set-upstream-to', 'origin/main')
      await board.client.cards.create({ projectId, title: 'Fetch', prompt: 'Work.', columnId, agent: 'setsid' })
      await eventually('the fetch', () => existsSync(asked))
    },
  }
  boards.push(watched)
  return watched
}

const commandLine = (pid: number): string => readProcessFile(pid, 'cmdline')
const openFiles = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap(file => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${file}`)]
    } catch {
      return []
    }
  })

/** Kills the server, and measures how long any of its processes lives. */
async function killAndMeasure({ board, processes }: Watched, watchdog: number): Promise<void> {
  const killedAt = performance.now()
  await board.end('SIGKILL')
  await eventually('the end of every process', () => processes().length === 0)
  const goneAfterMs = performance.now() - killedAt
  await eventually('the end of the watchdog', () => !isAlive(watchdog))
  process.stdout.write(`gone ${Math.round(goneAfterMs)} ms after the kill\n`)
  expect(goneAfterMs).toBeLessThan(goneWithinMs * slowdown())
  goneAfter.push(goneAfterMs)
}

afterAll(() =>
  note(
    `after a kill of the server: agents whose tools ignore TERM, in separate sessions, maximum of ${goneAfter.length} runs`,
    Math.max(...goneAfter),
    'ms',
    { atMost: goneWithinMs },
  ),
)
beforeEach(async () => {
  one = await startBoard()
})
afterEach(async () => {
  for (const { board, root, processes, others } of boards.splice(0)) {
    await clearAway(board, root)
    // Ends the processes that a failed test leaves.
    for (const pid of new Set([...processes(), ...others()])) process.kill(pid, 'SIGKILL')
  }
})

test('processes of agents and their tools in separate sessions end within 2 s of a kill of the server, and their cards are interrupted', async () => {
  expect(one.watchdog()).toBeUndefined()
  const cards = [await one.begin('setsid'), await one.begin('deaf')]
  expect(one.processes()).toHaveLength(4)
  await killAndMeasure(one, one.watchdog()!)
  await one.board.start()
  for (const cardId of cards) {
    const { status, statusReason, sessions } = await one.card(cardId)
    expect([status, statusReason, sessions.length]).toEqual(['interrupted', 'server_restart', 1])
  }
  expect(one.processes()).toEqual([])
})

test('the watchdog has its own session, ignores all signals that can be ignored, and holds no file of the server', async () => {
  await one.begin('setsid')
  const watchdog = one.watchdog()!
  expect(statOf(watchdog).slice(2, 4)).toEqual([String(watchdog), String(watchdog)])
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(watchdog, signal)
  // Files that this process has open also were inherited from the process that started the test.
  const [stdin, ...others] = openFiles(watchdog).filter(file => !openFiles(process.pid).includes(file))
  expect([stdin, others]).toEqual([expect.stringMatching(/^(socket|pipe):/), []])
  const [, residentKb] = /VmRSS:\s+(\d+) kB/.exec(readProcessFile(watchdog, 'status'))!
  process.stdout.write(`the watchdog takes ${residentKb} kB\n`)
  expect(Number(residentKb)).toBeLessThan(8 * 1024)
  note('the watchdog takes', Number(residentKb) / 1024, 'MiB', { atMost: 8 })
  await killAndMeasure(one, watchdog)
})

test('a hanging fetch of the base ends with its server, for any end of it, with all its processes', async () => {
  await one.beginFetch()
  expect(one.others().length).toBeGreaterThan(2)
  const watchdog = one.watchdog()!
  const killedAt = performance.now()
  await one.board.end('SIGKILL')
  await eventually('the end of the fetch', () => one.others().length === 0)
  expect(performance.now() - killedAt).toBeLessThan(goneWithinMs * slowdown())
  await eventually('the end of the watchdog', () => !isAlive(watchdog))
})

test('a fetch whose server and watchdog were killed is ended by the next server', async () => {
  await one.beginFetch()
  process.kill(one.watchdog()!, 'SIGKILL')
  await eventually('the log to tell', () => one.board.stderr.includes('The watchdog ended'))
  await one.board.end('SIGKILL')
  expect(one.others().length).toBeGreaterThan(2)
  await one.board.start()
  await eventually('the end of the fetch', () => one.others().length === 0)
})

test('of two servers, the killed one takes only its own processes with it', async () => {
  const other = await startBoard()
  const cardId = await other.begin('setsid')
  await one.begin('setsid')
  const [others, othersWatchdog] = [other.processes(), other.watchdog()!]
  await killAndMeasure(one, one.watchdog()!)
  expect(other.processes()).toEqual(others)
  expect(isAlive(othersWatchdog)).toBe(true)
  expect((await other.card(cardId)).status).toBe('running')
  expect(await other.board.end('SIGTERM')).toMatchObject({ code: 0 })
  expect(other.processes()).toEqual([])
  await eventually('the end of the watchdog', () => !isAlive(othersWatchdog))
})

test('a killed watchdog is replaced with the next process, its replacement includes the earlier ones, and the log reports it once', async () => {
  await one.begin('setsid')
  const first = one.watchdog()!
  process.kill(first, 'SIGKILL')
  await eventually('the log to tell', () => one.board.stderr.includes('The watchdog ended'))
  expect(one.watchdog()).toBeUndefined()
  await one.begin('deaf')
  await one.begin('setsid')
  expect(one.board.stderr.split('The watchdog ended')).toHaveLength(2)
  await killAndMeasure(one, one.watchdog()!)
})
