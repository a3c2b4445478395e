import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startMonitorBoard, type MonitorBoard } from './monitorBoard.ts'

let board: MonitorBoard
beforeAll(async () => {
  board = await startMonitorBoard()
})
afterAll(() => board.close())

/** Records its start, its end and the number of concurrent runs. `meanwhile` is its work in between. */
const noting = (ledger: string, name: string, meanwhile: string) =>
  `echo "+ ${name}" >> ${ledger}; ${meanwhile}; echo "- ${name}" >> ${ledger}`
const told = (ledger: string) =>
  existsSync(ledger)
    ? readFileSync(ledger, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map(line => line.split(' ') as ['+' | '-', string])
    : []

it('at most eight run at once on a server, and each gets its turn', async () => {
  const ledger = join(board.folder('ledgers'), 'many')
  appendFileSync(ledger, '')
  const cards = await Promise.all(Array.from({ length: 4 }, () => board.newCard()))
  // None ends before eight have started, however slowly, and a ninth would have time to start.
  const untilEight = `while [ $(grep -c + ${ledger}) -lt 8 ]; do sleep 0.05; done; sleep 0.2`
  const created = await Promise.all(
    cards.flatMap(card =>
      Array.from({ length: 8 }, (_, at) => board.create(card, noting(ledger, `${card.cardId}.${at}`, untilEight))),
    ),
  )
  await eventually('every run', () => told(ledger).length === 64, 30_000)
  let [now, maxConcurrent] = [0, 0]
  for (const [sign] of told(ledger)) {
    now += sign === '+' ? 1 : -1
    maxConcurrent = Math.max(maxConcurrent, now)
  }
  expect(maxConcurrent).toBe(8)
  expect(new Set(told(ledger).map(([, name]) => name)).size).toBe(32)
  for (const { id } of created)
    expect((await board.until(id, 'its end', ({ status }) => status !== 'running')).status).toBe('ok')
})

it('a user with few monitors does not wait for one with many', async () => {
  const ledger = join(board.folder('ledgers'), 'fair')
  const greedy = await Promise.all(Array.from({ length: 4 }, () => board.newCard()))
  await Promise.all(
    greedy.flatMap(card => Array.from({ length: 8 }, () => board.create(card, noting(ledger, 'greedy', 'sleep 0.5')))),
  )
  const { projectId, path } = await board.newProject()
  const modest = await board.newCard(projectId)
  await board.create(modest, noting(ledger, 'modest', ':'), { cwd: path })
  await eventually('the modest one', () => told(ledger).some(([, name]) => name === 'modest'), 30_000)
  // Earlier runs might have ended, and all of their slots but one were reused.
  const before = told(ledger)
    .slice(
      0,
      told(ledger).findIndex(([, name]) => name === 'modest'),
    )
    .filter(([sign]) => sign === '+').length
  expect(before).toBeLessThanOrEqual(24)
  await eventually(
    'the others',
    () => told(ledger).filter(([sign, name]) => sign === '-' && name === 'greedy').length === 32,
    30_000,
  )
})
