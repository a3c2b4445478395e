import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readParts } from '../bench/page.ts'

const bench = (...args: string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-'))
  const ran = spawnSync(process.execPath, ['test/bench/start.mjs', '--quick', ...args], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: folder },
  })
  return { ...ran, left: readdirSync(folder) }
}
const marks = () => execFileSync('git', ['worktree', 'list'], { encoding: 'utf8' })

test('measures another commit next to this tree, and leaves none of its files', () => {
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
    // Both are built from equal sources; this test does not check how far a busy machine separates them.
    expect(ratio! > 0.02 && ratio! < 50, row).toBe(true)
  }
  expect(left).toEqual([])
  expect(marks()).toBe(before)
})

test('reports invalid comparisons', () => {
  const unknown = bench('--against', 'no-such-commit', '--only', 'create 100')
  expect([unknown.status === 0, unknown.left]).toEqual([false, []])
  expect(unknown.stderr).toContain('no-such-commit')
  const both = bench('--against', 'HEAD', '--database', 'ws://127.0.0.1:1', '--only', 'get')
  expect(both.status).toBe(2)
  expect(both.stderr).toContain('--against')
})

test('writes its measurements to its part of a page, with the speed of the machine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-document-'))
  const document = join(folder, 'figures.md')
  const [name, other] = [
    'npm run bench -- --only start,commands',
    '<!-- begin: npm run year -->\n<!-- end: npm run year -->\n',
  ]
  writeFileSync(document, `<!-- begin: ${name} -->\nof an earlier run\n<!-- end: ${name} -->\n\n${other}`)
  const { status, stderr } = bench('--only', 'start,commands', '--write', document)
  expect(status, stderr).toBe(0)
  const text = readFileSync(document, 'utf8')
  expect([text.endsWith(other), text.includes('earlier')]).toEqual([true, false])
  const { command, rows } = readParts(text, document).get(name)!
  expect(command).toBe(`npm run bench -- --quick --only start,commands --write ${document}`)
  expect(rows.find(([what]) => what === 'board --version against node -e 0')).toEqual([
    expect.any(String),
    expect.stringMatching(/^[\d.]+ ms$/),
    expect.stringMatching(/^[\d.]+ ms$/),
    expect.stringMatching(/^[\d.]+ ×$/),
    expect.any(String),
    '≤ 1.60 ×',
    expect.any(String),
  ])
  writeFileSync(document, 'no place for figures')
  const nowhere = bench('--only', 'start,commands', '--write', document)
  expect([nowhere.status, nowhere.stderr.includes('has no lines'), nowhere.left]).toEqual([2, true, []])
  rmSync(folder, { recursive: true })
})
