import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const bench = (...args: string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-'))
  const ran = spawnSync(process.execPath, ['test/bench/start.mjs', '--quick', ...args], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: folder },
  })
  return { ...ran, left: readdirSync(folder) }
}
const marks = () => execFileSync('git', ['worktree', 'list'], { encoding: 'utf8' })

test('measures another commit beside this tree, and leaves nothing of it', () => {
  const before = marks()
  const { status, stdout, stderr, left } = bench('--against', 'HEAD', '--only', 'create 100,session')
  expect(status, stderr).toBe(0)
  for (const name of [
    'create 100/cpu',
    'create 100/rate',
    'session/ms',
    'first word, small/ms',
    'first word, large/ms',
  ]) {
    const row = stdout.split('\n').find(line => line.startsWith(name))
    const [then, now, ratio] = (row ?? '').slice(name.length).replaceAll(',', '').trim().split(/\s+/).map(Number)
    expect([then! > 0, now! > 0], row).toEqual([true, true])
    // Both are of the same sources; how far apart a busy machine brings them is no matter of this test.
    expect(ratio! > 0.02 && ratio! < 50, row).toBe(true)
  }
  expect(left).toEqual([])
  expect(marks()).toBe(before)
})

test('says what it cannot compare with', () => {
  const unknown = bench('--against', 'no-such-commit', '--only', 'create 100')
  expect([unknown.status === 0, unknown.left]).toEqual([false, []])
  expect(unknown.stderr).toContain('no-such-commit')
  const both = bench('--against', 'HEAD', '--database', 'ws://127.0.0.1:1', '--only', 'get')
  expect(both.status).toBe(2)
  expect(both.stderr).toContain('--against')
})

test('writes what it measured into a document, with the speed of the machine itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-document-'))
  const document = join(folder, 'figures.md')
  const around = ['before\n\n<!-- begin: npm run bench -->', '<!-- end: npm run bench -->\n\nafter\n']
  writeFileSync(document, around.join('\nof an earlier run\n'))
  const { status, stderr } = bench('--only', 'commands', '--write', document)
  expect(status, stderr).toBe(0)
  const text = readFileSync(document, 'utf8')
  expect([text.startsWith(around[0]!), text.endsWith(around[1]!), text.includes('earlier')]).toEqual([
    true,
    true,
    false,
  ])
  expect(text).toMatch(
    /bare node:http server \d+ µs, a synced write of 4 KiB [\d.]+ ms, `node -e 0` \d+ ms; load [\d.]+/,
  )
  expect(text).toMatch(/^\| board --version against node -e 0 \| [\d.]+ ms \| [\d.]+ ms \| [\d.]+ × \|/m)
  writeFileSync(document, 'no place for figures')
  const nowhere = bench('--only', 'commands', '--write', document)
  expect([nowhere.status, nowhere.stderr.includes('has no lines'), nowhere.left]).toEqual([2, true, []])
  rmSync(folder, { recursive: true })
})
