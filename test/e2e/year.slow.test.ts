import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

test('a thousandth of a year is read, pruned and copied like a fresh board, and its file releases deleted space and stops growing', async () => {
  const program = join(root, 'test/bench/year/start.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--share', '0.001', '--rounds', '1'])
  expect(stdout).toContain('2,000 events, 300 activities, 20 sessions and 30,000 pieces')
  for (const measured of [
    'start',
    'list cards',
    'search',
    'transcript',
    'purge cards',
    'return freed pages',
    'backup',
    'copy before a migration',
  ])
    expect(stdout).toMatch(new RegExp(`^${measured}.*: [\\d.,]+ and [\\d.,]+, [\\d.]+ ×$`, 'm'))
  const [before, after] = ['file', 'file after pruning'].map(name =>
    Number(new RegExp(`^${name}, MB: ([\\d.]+)`, 'm').exec(stdout)![1]),
  ) as [number, number]
  expect(after).toBeLessThan(before)
  const rounds = [...stdout.matchAll(/^file after writing and deleting \d+%, round \d, MB: ([\d.]+)$/gm)].map(
    ([, megabytes]) => Number(megabytes),
  )
  expect(rounds).toHaveLength(4)
  expect(rounds[3]).toBeLessThan(2 * after)
})
