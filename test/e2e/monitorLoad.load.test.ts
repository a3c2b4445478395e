import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type Client } from '../../src/client/index.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { cpuMs, expectQuick, percentile, shown, shownAnswers, startProbe } from './measure.ts'

/** BOARD_TEST_MONITORS=500 for the long run: each runs once a minute. */
const total = Number(process.env.BOARD_TEST_MONITORS ?? 24)
const isLong = total > 100
const intervalSecs = isLong ? 60 : 10
/** The monitors are added over this period, so that the server's eight slots suffice for the runs that start per second. */
const spreadMs = (isLong ? 1 : 0.5) * intervalSecs * 1000
const watchedMs = (isLong ? 2.5 : 0.7) * intervalSecs * 1000
const projects = 5
const perCard = 8
/** The aims, and the limits on a machine that runs other tests. */
const [maxLagMs, maxHealthMs] = isLong ? [1000, 100] : [3000, 300]

type Monitor = Awaited<ReturnType<Client['monitors']['create']>>
const root = mkdtempSync(join(tmpdir(), 'board-monitor-load-'))
const [dataDir, ledgers] = [join(root, 'data'), join(root, 'ledgers')]
const board = boardProcess(dataDir, { HOME: root })
/** Per monitor its ledger, and per project clients that can add monitors to its cards. */
const monitors = new Map<string, { monitor: Monitor; name: string }>()
let cards: Array<{ projectId: string; cardId: string; client: Client }>

beforeAll(async () => {
  mkdirSync(ledgers)
  hideAgents(dataDir)
  await board.start()
  cards = (
    await Promise.all(
      Array.from({ length: projects }, (_, at) => cardsOf(`Project ${at}`, Math.ceil(total / projects / perCard))),
    )
  ).flat()
})
afterAll(() => clearAway(board, root))

async function cardsOf(name: string, count: number): Promise<typeof cards> {
  const path = join(root, name)
  mkdirSync(path)
  const { id: projectId } = await board.client.projects.create({ name, path })
  const active = (await board.client.columns.list({ projectId }))[1]!.id
  return Promise.all(
    Array.from({ length: count }, async () => {
      const { id: cardId } = await board.client.cards.create({
        projectId,
        title: name,
        columnId: active,
        deferred: true,
      })
      const { token } = await board.client.agents.token({ projectId, cardId, ttlSecs: 3600 })
      return { projectId, cardId, client: createClient({ url: board.url, token }) }
    }),
  )
}

async function add(at: number, command: string, everySecs: number): Promise<void> {
  const { client, ...ref } = cards[at % cards.length]!
  const name = `m${at}`
  const monitor = await client.monitors.create({
    ...ref,
    command: command.replaceAll('LEDGER', join(ledgers, name)),
    intervalSecs: everySecs,
    allowUnsandboxed: true,
  })
  monitors.set(name, { monitor, name })
}

const stampsOf = (name: string) =>
  existsSync(join(ledgers, name))
    ? readFileSync(join(ledgers, name), 'utf8').split('\n').filter(Boolean).map(Number)
    : []

/** The delay of each run after its time on its monitor's grid. */
function lags(): number[] {
  return [...monitors.values()].flatMap(({ monitor, name }) =>
    stampsOf(name).map(stamp => {
      const sinceMs = stamp - Date.parse(monitor.createdAt)
      return sinceMs - Math.max(0, Math.round(sinceMs / (intervalSecs * 1000))) * intervalSecs * 1000
    }),
  )
}

test(
  `${total} monitors run on time and equally often, and the server answers quickly`,
  async () => {
    const beganAt = performance.now()
    for (let at = 0; at < total; at++) {
      await delay(Math.max(0, beganAt + (at * spreadMs) / total - performance.now()))
      await add(at, `date +%s%3N >> LEDGER; sleep ${(at % 5) / 10}`, intervalSecs)
    }
    const probe = await startProbe(board)
    const [cpuBeforeMs, runsBefore] = [cpuMs(board.pid), lags().length]
    await delay(watchedMs)
    const answers = await probe.end()
    const late = lags()
    const eachMs = (cpuMs(board.pid) - cpuBeforeMs) / (late.length - runsBefore)
    const runs = [...monitors.keys()].map(name => stampsOf(name).length)
    process.stdout.write(
      `${total} monitors, ${late.length} runs at ${eachMs.toFixed(1)} ms of the server's processor each: lag ${shown(late)}; runs of each ${Math.min(...runs)} to ${Math.max(...runs)}; ${shownAnswers(answers)}\n`,
    )
    expect(percentile(late, 0.99)).toBeLessThan(maxLagMs * (isLong ? 1 : slowdown()))
    expectQuick(answers, maxHealthMs)
    // The first monitors have had time for another run.
    expect(Math.max(...runs) - Math.min(...runs)).toBeLessThanOrEqual(1)
  },
  300_000 + 10 * intervalSecs * 1000,
)

test('if all are due at once each gets its turn, and a project with few monitors does not wait for one with many', async () => {
  for (const { monitor } of monitors.values()) {
    const { projectId } = cards.find(({ cardId }) => cardId === monitor.cardId)!
    await board.client.monitors.deleteProject({ projectId, monitorId: monitor.id })
  }
  monitors.clear()
  const [modest] = await cardsOf('Modest', 1)
  const beganAt = Date.now()
  await Promise.all(Array.from({ length: total }, (_, at) => add(at + total, 'date +%s%3N >> LEDGER; sleep 0.3', 3600)))
  await modest!.client.monitors.create({
    projectId: modest!.projectId,
    cardId: modest!.cardId,
    command: `date +%s%3N >> ${join(ledgers, 'modest')}`,
    intervalSecs: 3600,
    allowUnsandboxed: true,
  })
  const askedAt = Date.now()
  const probe = await startProbe(board)
  await eventually(
    'a run of each',
    () => [...monitors.keys(), 'modest'].every(name => stampsOf(name).length > 0),
    120_000,
  )
  const tookMs = Date.now() - beganAt
  const waitedMs = stampsOf('modest')[0]! - askedAt
  const answers = await probe.end()
  process.stdout.write(
    `${total} at once: all ran within ${(tookMs / 1000).toFixed(1)} s, the one of another project after ${waitedMs} ms; ${shownAnswers(answers)}\n`,
  )
  expect([...monitors.keys()].map(name => stampsOf(name).length).filter(runs => runs !== 1)).toEqual([])
  expect(waitedMs).toBeLessThan(2000 * slowdown())
  expectQuick(answers, maxHealthMs)
})
