import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { largeBoard } from './largeBoard.ts'

/** BOARD_TEST_ROUNDS=100 is a board of 100,000 cards. */
const cardCount = 1000 * Number(process.env.BOARD_TEST_ROUNDS ?? 5)
/** Generous, for busy machines. */
const maxHealthMs = 250
const maxMoreMegabytes = 300

const root = mkdtempSync(join(tmpdir(), 'board-large-'))
const file = join(root, 'large.json')
const board = boardProcess(join(root, 'data'), {})
beforeAll(async () => {
  hideAgents(join(root, 'data'))
  writeFileSync(file, JSON.stringify(largeBoard(root, cardCount, 50)))
  await board.start()
})
afterAll(() => clearAway(board, root))

const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${board.pid}/status`, 'utf8'))![1]) / 1024

/** The longest response time of the server's health during `work`, in ms, and its peak memory, in MB. */
async function watched<T>(
  work: () => Promise<T>,
): Promise<{ result: T; healthMs: number; moreMegabytes: number; tookMs: number }> {
  const times: number[] = []
  const [before, startedMs] = [memory(), performance.now()]
  let [peak, isOver] = [before, false]
  const looking = (async () => {
    while (!isOver) {
      const askedMs = performance.now()
      await board.client.server.health()
      times.push(performance.now() - askedMs)
      peak = Math.max(peak, memory())
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  })()
  const result = await work()
  const tookMs = performance.now() - startedMs
  isOver = true
  await looking
  times.sort((a, b) => a - b)
  return { result, healthMs: times[Math.floor(times.length * 0.99)]!, moreMegabytes: peak - before, tookMs }
}

it('a large board is imported and exported while the server answers others', async () => {
  const come = await watched(() => board.client.transfers.import({ format: 'board', file: { path: file } }))
  expect(come.result).toMatchObject({ cards: cardCount, attachments: 50, warnings: [] })
  const go = await watched(async () => {
    const { body, size } = await board.client.transfers.exportProject({ id: come.result.projectIds[0]! })
    let got = 0
    body.on('data', (chunk: Buffer) => {
      got += chunk.length
    })
    await finished(body)
    expect(got).toBe(size)
    return got
  })
  const figures = {
    cardCount,
    fileMegabytes: statSync(file).size / 1e6,
    import: { ...come, result: undefined },
    export: { ...go, result: undefined, megabytes: go.result / 1e6 },
  }
  if (cardCount > 5000) console.log(figures)
  for (const { healthMs, moreMegabytes } of [come, go]) {
    expect(healthMs).toBeLessThan(maxHealthMs * 2 * slowdown())
    expect(moreMegabytes).toBeLessThan(maxMoreMegabytes)
  }
}, 600_000)
