import { randomInt } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { scheduleLimits } from '../../src/contract/automation/schedules.ts'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { bundled } from './bundled.ts'
import { createDice } from './dice.ts'

/** BOARD_TEST_ROUNDS=100 for the long run; BOARD_TEST_SEED repeats a random run. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 6)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const count = scheduleLimits.maxPerProject
const everySecs = 3600

const root = mkdtempSync(join(tmpdir(), 'board-schedules-'))
const dataDir = join(root, 'data')
const clockFile = join(root, 'clock')
const dice = createDice(seed)
let nowMs = Date.parse('2026-11-23T08:00:00.000Z')
let board: BoardProcess

/** Sets the clock of the server atomically. */
function showTime(timeMs: number): void {
  nowMs = timeMs
  writeFileSync(`${clockFile}.next`, new Date(timeMs).toISOString())
  renameSync(`${clockFile}.next`, clockFile)
}

async function allCards(projectId: string) {
  const pages = [await board.client.cards.list({ projectId, limit: 1000, sort: 'id' })]
  while (pages.at(-1)!.length === 1000)
    pages.push(await board.client.cards.list({ projectId, limit: 1000, sort: 'id', offset: pages.length * 1000 }))
  return pages.flat()
}

beforeAll(async () => {
  hideAgents(dataDir)
  mkdirSync(join(root, 'program'))
  showTime(nowMs)
  const program = await bundled('test/e2e/clockedServer.ts', join(root, 'program'))
  board = boardProcess(dataDir, { HOME: root, CLOCK_FILE: clockFile }, [], program)
  await board.start()
})
afterAll(() => clearAway(board, root))

it('a schedule creates each card once, at any time of a kill', { timeout: 300_000 + rounds * 60_000 }, async () => {
  const { id: projectId } = await board.client.projects.create({ name: 'Killed', path: root })
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    const schedule = { projectId, name: `S${at}`, everySecs, overlap: 'add', timeZone: 'UTC' } as const
    ids.push((await board.client.schedules.create({ ...schedule, template: { title: `S${at}` } })).id)
  }
  const beganMs = nowMs
  const interrupted: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const live = await follow(board.url, board.token, projectId)
    const until = dice.between(1, count - 5)
    showTime(beganMs + round * everySecs * 1000)
    // The timer checks the clock after an event.
    await board.client.cards.create({ projectId, title: `round ${round}`, deferred: true })
    const made = () => live.messages.filter(({ type, data }) => type === 'card.created' && data.title.startsWith('S'))
    await eventually(`${until} cards`, () => made().length >= until)
    await board.end('SIGKILL')
    await board.start()
    interrupted.push(made().length)
    live.close()
    // A run counts as on time if it is up to a minute late.
    await eventually('the other cards', async () => {
      const schedules = await board.client.schedules.list({ projectId })
      return schedules.every(({ lastRunAt }) => lastRunAt === new Date(nowMs).toISOString())
    })

    const cards = await allCards(projectId)
    const titles = cards.map(({ title }) => title).filter(title => title.startsWith('S'))
    const expected = ids.flatMap((_, at) => Array.from({ length: round }, () => `S${at}`))
    expect(titles.toSorted(), `seed ${seed}, round ${round}`).toEqual(expected.toSorted())
    for (const { name, lastCardId, skipped, nextRunAt } of await board.client.schedules.list({ projectId })) {
      expect(lastCardId).toBe(cards.findLast(({ title }) => title === name)!.id)
      expect({ skipped, nextRunAt }).toEqual({
        skipped: 0,
        nextRunAt: new Date(nowMs + everySecs * 1000).toISOString(),
      })
    }
  }
  expect(interrupted.some(made => made < count)).toBe(true)
  process.stdout.write(`${rounds} kills after ${interrupted.join(', ')} of ${count} cards, seed ${seed}\n`)
})
