import { spawn } from '@lydell/node-pty'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { median } from '../bench/figures.ts'
import { figuresOf } from '../support/run/writtenFigures.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { firstFrameMs, measure, startLoaded, type LoadedBoard } from './load.ts'

/** BOARD_TEST_ROUNDS=10 npx vitest run test/ui/screens.load.test.ts measures 20,000 cards for ten seconds. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 0)
let board: LoadedBoard
const note = figuresOf('test/ui/screens.load.test.ts', { BOARD_TEST_ROUNDS: process.env.BOARD_TEST_ROUNDS })
const cards = rounds > 0 ? 20_000 : 2000

beforeAll(async () => {
  board = await startLoaded(cards)
})
afterAll(() => board.close())

test.each([
  [100, 30],
  [240, 70],
])(
  'four columns with many cards and 20 changes a second stay fast at %i×%i',
  async (width, height) => {
    const figures = await measure(board, {
      seconds: rounds > 0 ? rounds : 3,
      updatesPerSec: 20,
      keysPerSec: 20,
      width,
      height,
    })
    if (rounds > 0) console.log({ width, height, ...figures })
    expect(figures.brokenFrames).toBe(0)
    expect(figures.bytesOutsideOfFrames).toBe(0)
    expect(figures.bytesPerFrame).toBeLessThan(1024)
    // A slow machine draws fewer frames, and takes longer for each.
    expect(figures.framesPerSec).toBeGreaterThan(rounds > 0 ? 15 : 5 / slowdown())
    expect(figures.cpuPercent).toBeLessThan(60 * (rounds > 0 ? 1 : slowdown()))
    note(
      `${cards.toLocaleString('en-US')} cards at ${width}×${height}, 20 changes and keys a second: pictures`,
      figures.framesPerSec,
      '/s',
    )
    note('… bytes of a picture', figures.bytesPerFrame, '', { atMost: 1024 })
    note('… of a processor', figures.cpuPercent, '%', { atMost: 60 })
    note('… memory', figures.memoryMiB, 'MB')
  },
  300_000 + rounds * 2000,
)

test('the first frame is drawn quickly', async () => {
  const node: number[] = []
  const ui: number[] = []
  for (let round = 0; round < (rounds > 0 ? 21 : 5); round++) {
    node.push(
      await new Promise(done => {
        const startedAtMs = performance.now()
        spawn(process.execPath, ['-e', '0'], { env: { PATH: process.env.PATH } }).onExit(() =>
          done(performance.now() - startedAtMs),
        )
      }),
    )
    ui.push(await firstFrameMs(board))
  }
  if (rounds > 0) console.log({ nodeMs: median(node), firstFrameMs: median(ui), times: median(ui) / median(node) })
  expect(median(ui)).toBeLessThan(median(node) * (rounds > 0 ? 7 : 12))
  note('from the start of its process to its first picture', median(ui), 'ms', { atMost: 300 })
  note('… as a multiple of `node -e 0` in a terminal', median(ui) / median(node), '×')
})
