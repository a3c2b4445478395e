import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readParts } from '../bench/page.ts'

const measuring = 'test/routes/bad-input.slow.test.ts'
const folder = mkdtempSync(join(tmpdir(), 'board-written-'))
const page = join(folder, 'figures.md')
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a test file with the request to write its measurements. */
const run = (content: string, ...args: string[]) => {
  writeFileSync(page, content)
  // The seed of the outer run would become part of the command.
  const { BOARD_TEST_SEED: _seed, ...own } = process.env
  const env = {
    ...own,
    BOARD_WRITE_FIGURES: page,
    BOARD_FUZZ_RUNS: '1',
    BOARD_FUZZ_SEED: '7',
    BOARD_TEST_BUILT: '1',
  }
  return new Promise<{ code: unknown; said: string }>(done => {
    execFile(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', 'run', '--project', 'slow', measuring, ...args],
      { env },
      (error, stdout, stderr) => done({ code: error?.code ?? 0, said: stdout + stderr }),
    )
  })
}
const marks = `<!-- begin: ${measuring} -->\n<!-- end: ${measuring} -->\n`

test('a test file writes its part of the requested page', async () => {
  const { code, said } = await run(marks)
  expect(code, said).toBe(0)
  const { command, rows } = readParts(readFileSync(page, 'utf8'), page).get(measuring)!
  expect(command).toBe(
    `BOARD_WRITE_FIGURES=${page} BOARD_FUZZ_RUNS=1 BOARD_FUZZ_SEED=7 npx vitest run --project slow ${measuring}`,
  )
  expect(rows).toEqual([[expect.stringContaining('nearly right'), expect.stringMatching(/^\d+$/), '', '']])
})

test('it passes and reports an error if it cannot write, and writes nothing unless all of its tests have run', async () => {
  const elsewhere = await run('no part of it\n')
  expect([elsewhere.code, readFileSync(page, 'utf8')], elsewhere.said).toEqual([0, 'no part of it\n'])
  expect(elsewhere.said).toContain(
    `The figures of ${measuring} are not written: ${page} has no lines <!-- begin: ${measuring} -->`,
  )
  const some = await run(marks, '-t', 'boards.list')
  expect([some.code, readFileSync(page, 'utf8')], some.said).toEqual([0, marks])
  expect(some.said).toContain(`The figures of ${measuring} are not written: not all of its tests have run and passed.`)
})
