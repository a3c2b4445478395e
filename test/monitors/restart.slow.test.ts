import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { setNextRun, updateMonitor } from '../../src/store/automation/monitors.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { startMonitorBoard, untilGone, type MonitorBoard } from './monitorBoard.ts'

let root: string
let board: MonitorBoard
let now: () => number
const start = () => startMonitorBoard({ dataDir: join(root, 'data'), clock: () => new Date(now()) })
beforeEach(async () => {
  now = Date.now
  root = mkdtempSync(join(tmpdir(), 'board-restart-'))
  board = await start()
})
afterEach(async () => {
  await board.close()
  rmSync(root, { recursive: true, force: true })
})
const restart = async (meanwhile: () => Promise<void> = async () => {}) => {
  await meanwhile()
  await board.server.stop()
  board = await start()
}
const runsOf = (ledger: string) => (existsSync(ledger) ? readFileSync(ledger, 'utf8').length : 0)

it('a stop of the server ends the run; the monitor keeps its status and continues with the next server', async () => {
  const [card, mark] = [await board.newCard(), `board-monitor-stop-${process.pid}`]
  const { id, createdAt } = await board.create(
    card,
    `(setsid sh -c 'trap "" TERM; sleep 100; :' ${mark} &); sh -c 'sleep 100; :' ${mark}`,
  )
  await eventually('its processes', () => processesWith(mark).length >= 2)
  const before = performance.now()
  await board.server.stop()
  expect(performance.now() - before).toBeLessThan(8000 * slowdown())
  expect(processesWith(mark)).toEqual([])
  board = await start()
  const monitor = (await board.client.monitors.listProject({ projectId: card.projectId }))[0]!
  expect(monitor).toMatchObject({
    id,
    status: 'pending',
    error: 'The server stopped while the command ran.',
    exitCode: null,
    consecutiveFailures: 0,
  })
  expect(Math.abs(Date.parse(monitor.nextRunAt!) - Date.parse(createdAt) - 60_000)).toBeLessThan(1000)
  await board.client.monitors.deleteProject({ projectId: card.projectId, monitorId: id })
})

it('a row with a running status at the start of the server is corrected before the first read', async () => {
  const card = await board.newCard()
  const { id } = await board.create(card, 'echo said', { intervalSecs: 86_400 })
  expect((await board.until(id, 'a run', ({ status }) => status === 'ok')).output).toBe('said\n')
  await restart(() =>
    board.server.app.db.transaction(tx => updateMonitor(tx, Number(id), { status: 'running', nextRunAt: null })),
  )
  const [monitor] = await board.client.monitors.listProject({ projectId: card.projectId })
  expect(monitor).toMatchObject({
    status: 'ok',
    error: 'The server stopped while the command ran.',
    output: '',
    nextRunAt: new Date(Date.parse(monitor!.lastStartedAt!) + 86_400_000).toISOString(),
  })
})

it('a missed run is made up for once at the start, and the rest of the schedule is kept', async () => {
  const [card, ledgers] = [await board.newCard(), root]
  const make = async (name: string) =>
    (await board.create(card, `printf x >> ${join(ledgers, name)}`, { intervalSecs: 3600 })).id
  const [missed, ahead, far] = [await make('missed'), await make('ahead'), await make('far')]
  await eventually('the first runs', () => ['missed', 'ahead', 'far'].every(name => runsOf(join(ledgers, name)) === 1))
  for (const id of [missed, ahead, far]) await board.until(id, 'its end', ({ status }) => status === 'ok')
  const at = (ms: number) => new Date(now() + ms).toISOString()
  const nextOfAhead = at(1_800_000)
  await restart(() =>
    board.server.app.db.transaction(async tx => {
      await setNextRun(tx, Number(missed), at(-50_000_000))
      await setNextRun(tx, Number(ahead), nextOfAhead)
      // As after setting the clock back: no monitor is due later than its interval.
      await setNextRun(tx, Number(far), at(500_000_000))
    }),
  )
  await eventually('the missed run', () => runsOf(join(ledgers, 'missed')) === 2)
  const after = await board.until(missed, 'its end', ({ status, nextRunAt }) => status === 'ok' && nextRunAt !== null)
  expect(Date.parse(after.nextRunAt!) - now()).toBeGreaterThan(3_500_000)
  expect((await board.monitor(ahead)).nextRunAt).toBe(nextOfAhead)
  expect([runsOf(join(ledgers, 'ahead')), runsOf(join(ledgers, 'far'))]).toEqual([1, 1])
})

it('a clock change does not move the next run; the displayed times follow it', async () => {
  const card = await board.newCard()
  const ledger = join(root, 'ledger')
  const { id } = await board.create(card, `printf x >> ${ledger}`, { intervalSecs: 86_400 })
  const quick = await board.insert(card, `printf x >> ${ledger}-quick`, 0.5)
  const { nextRunAt } = await board.until(id, 'a run', ({ status }) => status === 'ok')
  for (const jumpMs of [400 * 86_400_000, -800 * 86_400_000]) {
    const before = now
    now = () => before() + jumpMs
    const shift = now() - Date.now()
    const moved = await board.until(
      id,
      'the new time',
      monitor => Math.abs(Date.parse(monitor.nextRunAt!) - Date.parse(nextRunAt!) - shift) < 2000,
    )
    expect(moved.status).toBe('ok')
    const runs = runsOf(`${ledger}-quick`)
    await eventually('the quick one to continue', () => runsOf(`${ledger}-quick`) > runs + 1, 4000)
  }
  expect(runsOf(ledger)).toBe(1)
  await board.client.monitors.deleteProject({ projectId: card.projectId, monitorId: quick })
  await untilGone(`${ledger}-quick`)
})
