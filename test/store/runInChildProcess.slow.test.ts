import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runInChildProcess, type SlowStatement } from '../../src/store/engine/runInChildProcess.ts'
import { openDatabase } from '../../src/store/engine/open.ts'

let folder: string
let path: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'board-aside-'))
  path = join(folder, 'board.db')
  const db = openDatabase({ path, clock: () => new Date() })
  await db.transaction(async tx => {
    await tx.run('CREATE TABLE things (name TEXT)')
    await tx.run(`INSERT INTO things VALUES ('one'), ('two')`)
  })
  await db.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

const endless = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n'
const slow = {
  sql: 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000) SELECT max(x) FROM n',
}

const run = (file: string, statements: readonly SlowStatement[], signal?: AbortSignal) =>
  runInChildProcess(file, query => query(statements), signal)

test('statements run in order, with their parameters, and return their rows', async () => {
  const copy = join(folder, 'copy.db')
  const results = await runInChildProcess(path, async query => {
    const [names] = await query([{ sql: 'SELECT name FROM things WHERE name <> ? ORDER BY name', args: ['two'] }])
    return [names, ...(await query([{ sql: 'VACUUM INTO ?', args: [copy] }, { sql: 'SELECT 2 AS total' }]))]
  })
  expect([results[0], results[2]]).toEqual([[{ name: 'one' }], [{ total: 2 }]])
  expect(existsSync(copy)).toBe(true)
  expect(await run(copy, [{ sql: 'SELECT name FROM things' }])).toEqual([[{ name: 'one' }, { name: 'two' }]])
})

test('an engine error is thrown with its code, and so is a file that cannot be opened', async () => {
  await expect(run(path, [{ sql: 'SELECT 1' }, { sql: 'SELECT nothing FROM things' }])).rejects.toMatchObject({
    code: 'SQLITE_ERROR',
    message: expect.stringContaining('nothing'),
  })
  await expect(run(join(folder, 'none', 'board.db'), [{ sql: 'SELECT 1' }])).rejects.toMatchObject({
    message: expect.stringContaining('Unable to open'),
  })
})

test('a statement that takes too long stops when it is aborted, with the given reason', async () => {
  const ending = new AbortController()
  const copy = join(folder, 'late.db')
  const running = run(
    path,
    [...Array.from({ length: 50 }, () => slow), { sql: 'VACUUM INTO ?', args: [copy] }],
    ending.signal,
  )
  await new Promise(setImmediate)
  ending.abort(new Error('No longer needed.'))
  await expect(running).rejects.toThrow('No longer needed.')
  expect(existsSync(copy)).toBe(false)
  await expect(run(path, [{ sql: 'SELECT 1' }], ending.signal)).rejects.toThrow('No longer needed.')
})

test('an abort in the middle of a statement affects nothing else, also repeatedly', async () => {
  for (let time = 0; time < 8; time++) {
    const ending = new AbortController()
    const running = run(path, [{ sql: endless }], ending.signal)
    setTimeout(() => ending.abort(new Error('No longer needed.')), 150 + 20 * time)
    await expect(running).rejects.toThrow('No longer needed.')
  }
})

test('the log of a process that has the file open remains, even after the system has dropped its lock on the file', async () => {
  const used = join(folder, 'used.db')
  const db = openDatabase({ path: used, clock: () => new Date() })
  await db.transaction(tx => tx.run('CREATE TABLE things (name TEXT)'))
  // When a process closes a file, it loses all of its locks on it.
  closeSync(openSync(used, 'r'))
  for (const total of [0, 1, 2]) {
    expect(await run(used, [{ sql: 'SELECT count(*) AS total FROM things' }])).toEqual([[{ total }]])
    await db.transaction(tx => tx.run(`INSERT INTO things VALUES ('one')`))
  }
  await db.close()
})
