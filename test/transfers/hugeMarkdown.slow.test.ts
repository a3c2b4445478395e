import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ApiFailure } from '../../src/client/index.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'board-huge-'))
const board = boardProcess(join(root, 'data'), {})
beforeAll(async () => {
  hideAgents(join(root, 'data'))
  await board.start()
})
afterAll(() => clearAway(board, root))

const mebibyte = 1024 * 1024
const fill = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length))

it.each([
  ['larger than allowed', fill('- [ ] a\n', 9 * mebibyte), 'BODY_TOO_LARGE'],
  ['one line', fill('x', 8 * mebibyte), 'INVALID_IMPORT'],
  ['lines of text', fill('some words\n', 8 * mebibyte), 'INVALID_IMPORT'],
  ['paragraphs', fill('a\n\n', 8 * mebibyte), 'INVALID_IMPORT'],
  ['tasks', fill('- [ ] a\n', 8 * mebibyte), 'INVALID_IMPORT'],
  ['fences', fill('```\n\n', 4 * mebibyte), 'INVALID_IMPORT'],
  ['quotes', fill('>', 8 * mebibyte), 'INVALID_IMPORT'],
  ['lists of lists', fill(`${'- '.repeat(60)}\n`, 8 * mebibyte), 'INVALID_IMPORT'],
  ['invalid at its end', `${fill('some words\n', 8 * mebibyte - 100)}\u0000\ud800`, 'INVALID_IMPORT'],
])(
  'rejecting a huge Markdown file of %s delays no other request by more than 100 ms',
  async (_, text, code) => {
    const file = join(root, 'huge.md')
    writeFileSync(file, text)
    let isOver = false
    const times: number[] = []
    const looking = (async () => {
      while (!isOver) {
        const startedMs = performance.now()
        await board.client.server.health()
        times.push(performance.now() - startedMs)
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    })()
    const error = await board.client.transfers.import({ format: 'markdown', path: root, file: { path: file } }).then(
      () => undefined,
      (failure: unknown) => failure,
    )
    isOver = true
    await looking
    expect(error).toBeInstanceOf(ApiFailure)
    expect((error as ApiFailure).code).toBe(code)
    expect(Math.max(...times)).toBeLessThan(100 * slowdown())
  },
  120_000,
)
