import LibsqlDatabase from 'libsql'
import { randomInt, randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { monitorLimits } from '../../src/contract/automation/monitors.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { figuresOf } from '../support/run/writtenFigures.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { Follower, type Told } from './crashFollowers.ts'
import { createWriters, type Writers } from './crashWriters.ts'
import { createDice } from './dice.ts'
import { percentile, shown, startFixture } from './measure.ts'

/** BOARD_TEST_ROUNDS=200 or 1000 for the long runs; BOARD_TEST_SEED repeats a random run. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 6)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const cardCount = 10_000
const [writerCount, followerCount] = [16, 3]
/** The aim. The delay of a bare server's start is added, because other processes can load the machine. */
const readyMs = 2000

const root = mkdtempSync(join(tmpdir(), 'board-crash-'))
const [dataDir, copies, ledger] = [join(root, 'data'), join(root, 'copies'), join(root, 'ledger')]
const board = boardProcess(dataDir, { HOME: root })
const dice = createDice(seed)
const mark = randomUUID()
const followers: Follower[] = []
const note = figuresOf('test/e2e/crash.load.test.ts', { BOARD_TEST_ROUNDS: rounds, BOARD_TEST_SEED: seed })
const [readyAfterMs, bareAfterMs, orphans]: [number[], number[], number[]] = [[], [], []]
afterAll(async () => {
  for (const follower of followers) follower.close()
  await clearAway(board, root)
  // If the test fails between a crash and the next start, this ends the processes of the crashed server.
  for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL')
})

/** Starts the server and waits until it is ready. Expects that no process of the previous one runs by then. */
async function start(): Promise<void> {
  const [before, began] = [board.url, performance.now()]
  await board.start()
  expect((await fetch(`${board.url}/api/ready`)).status).toBe(200)
  readyAfterMs.push(performance.now() - began)
  await measureMachine()
  if (before !== '' && before !== board.url) expect(ownProcessesOf(before)).toEqual([])
  await followAll()
}
/** The processes of the server at an address, if this test started them: another server might have had the same address. */
const ownProcessesOf = (url: string): number[] => {
  const own = new Set(processesWith(`HOME=${root}\0`))
  return processesWith(`BOARD_URL=${url}\0`).filter(pid => own.has(pid))
}
const followAll = () => Promise.all(followers.map(follower => follower.follow(board.url, board.token)))

/** The start time of an empty server shows the load of the machine. */
async function measureMachine(): Promise<void> {
  const began = performance.now()
  const { child, line } = await startFixture('bare')
  await fetch(line)
  bareAfterMs.push(performance.now() - began)
  child.kill()
}

/** Kills the server during concurrent writes, after a few hundred of them. */
async function crash(writers: Writers): Promise<void> {
  let left = dice.between(50, 250)
  let killed: Promise<unknown> | undefined
  await writers.write(board.client, () => {
    if (--left === 0) killed = board.end('SIGKILL')
  })
  await killed
  expect(board.stderr).toBe('')
  await Promise.all(followers.map(follower => follower.lose()))
  orphans.push(processesWith(mark).length)
}

/** Reads the events after a seq that the crash has left, including the log of the database, without modifying either. */
function eventsLeft(afterSeq: number, cards: number): { events: Told[]; lastSeq: number } {
  mkdirSync(copies, { recursive: true })
  for (const suffix of ['', '-wal'])
    if (existsSync(join(dataDir, `board.db${suffix}`)))
      copyFileSync(join(dataDir, `board.db${suffix}`), join(copies, `board.db${suffix}`))
  const file = new LibsqlDatabase(join(copies, 'board.db'))
  const rows = (sql: string) =>
    file
      .prepare(sql)
      .all([])
      .map(row => Object.values(row as object))
  expect(rows('PRAGMA integrity_check')).toEqual([['ok']])
  expect(rows('PRAGMA foreign_key_check')).toEqual([])
  const [[first, last, count]] = rows('SELECT min(seq), max(seq), count(*) FROM events') as [[number, number, number]]
  expect([first, count]).toEqual([1, last])
  expect(rows('SELECT count(*) FROM cards')[0]![0]).toBeGreaterThanOrEqual(cards)
  const events = rows(`SELECT seq, type, project_id, at, data FROM events WHERE seq > ${afterSeq} ORDER BY seq`).map(
    ([seq, type, projectId, at, data]) =>
      ({ seq, type, projectId: String(projectId), at, data: JSON.parse(String(data)) }) as Told,
  )
  file.close()
  rmSync(copies, { recursive: true })
  return { events, lastSeq: last }
}

/**
 * Adds a monitor that runs until it is stopped, holds a lock while any of its processes lives, and records if another run held it.
 * Deletes the oldest monitor if the card has the maximum number.
 */
async function addMonitor(projectId: string, cardId: string): Promise<void> {
  const all = await board.client.monitors.listProject({ projectId })
  if (all.length === monitorLimits.maxPerCard)
    await board.client.monitors.deleteProject({ projectId, monitorId: all[0]!.id })
  const { token } = await board.client.agents.token({ projectId, cardId })
  const stay = dice.chance(0.25) ? 'trap "" TERM; while :; do sleep 0.2; done' : 'sleep 300; :'
  const command = `exec 9>${root}/lock${randomUUID()}; flock -n 9 || echo double >> ${ledger}; echo run >> ${ledger}; setsid sh -c '${stay}' ${mark} & exec sh -c '${stay}' ${mark}`
  await createClient({ url: board.url, token }).monitors.create({
    projectId,
    cardId,
    command,
    intervalSecs: 10,
    allowUnsandboxed: true,
  })
}
const linesOf = (word: string) =>
  existsSync(ledger)
    ? readFileSync(ledger, 'utf8')
        .split('\n')
        .filter(line => line === word).length
    : 0

/** Expects an event for each version of each card, up to its newest one. */
function expectVersionsTold(told: Map<string, number>, events: readonly Told[], { ledgers }: Writers): void {
  for (const { type, data } of events as Array<Told & { data: { id: string; version?: number } }>)
    if (type.startsWith('card.')) told.set(data.id, data.version ?? (told.get(data.id) ?? 0) + 1)
  const untold = ledgers
    .flatMap(({ entries }) => entries)
    .filter(({ id, state, pending }) => ![state.version, pending?.version].includes(told.get(id)))
  expect(untold).toEqual([])
}

it(
  `no acknowledged write, event or process is lost or doubled in ${rounds} crashes under load (seed ${seed})`,
  async () => {
    hideAgents(dataDir)
    await start()
    const { id: projectId } = await board.client.projects.create({ name: 'Crash', path: root })
    const { id: watchedId } = await board.client.projects.create({ name: 'Watched', path: root })
    const columns = (await board.client.columns.list({ projectId })).map(({ id }) => id)
    const writers = createWriters(writerCount, dice, root, projectId, columns)
    await writers.fill(board.client, cardCount)
    const { id: cardId } = await board.client.cards.create({
      projectId: watchedId,
      title: 'Watched',
      columnId: (await board.client.columns.list({ projectId: watchedId }))[1]!.id,
      deferred: true,
    })
    followers.push(
      ...Array.from(
        { length: followerCount },
        () =>
          new Follower(
            new Map([
              [projectId, 0],
              [watchedId, 0],
            ]),
          ),
      ),
    )
    await followAll()
    const told = new Map<string, number>()
    for (let round = 0, seq = 0; round < rounds; round++) {
      await addMonitor(watchedId, cardId)
      await crash(writers)
      const { events, lastSeq } = eventsLeft(seq, cardCount)
      expectVersionsTold(told, events, writers)
      await start()
      for (const follower of followers) follower.expectTold(events, lastSeq)
      await writers.expectKept(board.client)
      expect(linesOf('double')).toBe(0)
      seq = lastSeq
    }
    expect((await board.end('SIGTERM')).code).toBe(0)
    expect(processesWith(mark)).toEqual([])
    expect(orphans.filter(count => count > 0).length, 'crashes that left processes').toBeGreaterThan(0)
    const again = readyAfterMs.slice(1)
    process.stdout.write(
      `${rounds} crashes of seed ${seed}: ready again after ${shown(again)}, aim ${readyMs} ms, with ${writers.ledgers.flatMap(({ entries }) => entries).length} cards; the machine itself (a bare server) ${shown(bareAfterMs)}; ${linesOf('run')} runs of monitors, ${orphans.reduce((sum, count) => sum + count)} processes left by crashes\n`,
    )
    expect(percentile(again, 0.5)).toBeLessThan(readyMs * slowdown())
    expect(Math.max(...again)).toBeLessThan(readyMs + 5 * Math.max(...bareAfterMs))
    note('`kill -9` under writes, sockets and monitors, after which nothing was lost or doubled', rounds, 'times')
    note(
      '… cards by then',
      writers.ledgers.reduce((sum, { entries }) => sum + entries.length, 0),
    )
    note('… runs of monitors', linesOf('run'))
    note(
      '… processes that were left, and ended by the next start',
      orphans.reduce((sum, count) => sum + count),
    )
    const beside = percentile(bareAfterMs, 0.5)
    note('… ready again, median', percentile(again, 0.5), 'ms', { atMost: readyMs, beside })
    note('… ready again, maximum', percentile(again, 1), 'ms')
    note('… a server that does nothing, median', beside, 'ms')
  },
  300_000 + rounds * 10_000,
)
