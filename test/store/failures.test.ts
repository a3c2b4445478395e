import LibsqlDatabase from 'libsql'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Problem } from '../../src/contract/errors.ts'
import { translateError, UniqueViolation, type Database } from '../../src/store/engine/database.ts'
import { writeWithRetry, retryWhileBusy } from '../../src/store/engine/retry.ts'
import { openDatabase } from '../../src/store/engine/open.ts'

let folder: string
let path: string
let db: Database
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'board-failures-'))
  path = join(folder, 'board.db')
  db = openDatabase({ path, clock: () => new Date() })
  await db.transaction(tx => tx.run('CREATE TABLE things (name TEXT)'))
})
afterEach(async () => {
  await db.close()
  rmSync(folder, { recursive: true })
})

const add = (name: string) => db.transaction(tx => tx.run('INSERT INTO things VALUES (?)', [name]))
const failing = (code: string, more: object = {}) =>
  translateError(Object.assign(new Error('words'), { code, ...more }))

test.each([
  ['SQLITE_BUSY', 'DATABASE_BUSY', 1],
  ['SQLITE_BUSY_SNAPSHOT', 'DATABASE_BUSY', 1],
  ['SQLITE_LOCKED', 'DATABASE_BUSY', 1],
  ['SQLITE_LOCKED_SHAREDCACHE', 'DATABASE_BUSY', 1],
  ['SQLITE_NOTADB', 'DATABASE_DAMAGED', 300],
  ['SQLITE_CORRUPT', 'DATABASE_DAMAGED', 300],
  ['SQLITE_CORRUPT_INDEX', 'DATABASE_DAMAGED', 300],
  ['SQLITE_FULL', 'DISK_FULL', 30],
  ['SQLITE_IOERR_WRITE', 'DISK_FULL', 30],
  ['SQLITE_IOERR_SHMSIZE', 'DISK_FULL', 30],
  ['HRANA_WEBSOCKET_ERROR', 'DATABASE_BUSY', 1],
  ['TRANSACTION_CLOSED', 'DATABASE_BUSY', 1],
  ['STREAM_EXPIRED', 'DATABASE_BUSY', 1],
  ['CLIENT_CLOSED', 'DATABASE_BUSY', 1],
  ['SERVER_ERROR', 'DATABASE_BUSY', 1],
  ['ECONNREFUSED', 'DATABASE_BUSY', 1],
])("the engine's error %s becomes %s, with its cause and a retry time", (code, expected, retryAfterSecs) => {
  const problem = failing(code)
  expect(problem).toBeInstanceOf(Problem)
  expect(problem).toMatchObject({ code: expected, cause: { code } })
  expect((problem as Problem).retryAfterSecs ?? 1).toBe(retryAfterSecs)
})

test('a duplicate value is distinguished from other constraints, for each engine', () => {
  for (const [code, more] of [
    ['SQLITE_CONSTRAINT_UNIQUE', {}],
    ['SQLITE_CONSTRAINT_PRIMARYKEY', {}],
    ['SQLITE_CONSTRAINT', { extendedCode: 'SQLITE_CONSTRAINT_UNIQUE' }],
    ['SQLITE_CONSTRAINT', { message: 'UNIQUE constraint failed: a.b' }],
  ] as const)
    expect(failing(code, more)).toBeInstanceOf(UniqueViolation)
  for (const code of [
    'SQLITE_CONSTRAINT',
    'SQLITE_CONSTRAINT_CHECK',
    'SQLITE_IOERR_READ',
    'SQLITE_ERROR',
    'ERR_ASSERTION',
  ]) {
    const problem = failing(code)
    expect(problem).toBeInstanceOf(Error)
    expect(problem).not.toBeInstanceOf(Problem)
    expect(problem).not.toBeInstanceOf(UniqueViolation)
  }
  const plain = new Error('words')
  expect(translateError(plain)).toBe(plain)
})

test('required work is written as soon as another program releases the database', async () => {
  const other = new LibsqlDatabase(path)
  other.exec('BEGIN IMMEDIATE')
  await expect(add('refused')).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
  const waits: string[] = []
  await writeWithRetry(
    db,
    tx => tx.run(`INSERT INTO things VALUES ('kept')`),
    code => {
      waits.push(code)
      if (waits.length === 2) other.exec('COMMIT')
    },
  )
  other.close()
  expect(waits).toEqual(['DATABASE_BUSY', 'DATABASE_BUSY'])
  expect(await db.all('SELECT name FROM things')).toEqual([{ name: 'kept' }])
})

test('required work waits for disk space, and for no other error', async () => {
  const problems = [new Problem('DISK_FULL'), new Problem('CARD_NOT_FOUND')]
  const waits: string[] = []
  await expect(
    writeWithRetry(
      db,
      async () => {
        throw problems.shift()!
      },
      code => waits.push(code),
    ),
  ).rejects.toMatchObject({ code: 'CARD_NOT_FOUND' })
  expect(waits).toEqual(['DISK_FULL'])
  await expect(
    writeWithRetry(
      db,
      async () => {
        throw new Error('It changed its mind.')
      },
      code => waits.push(code),
    ),
  ).rejects.toThrow('It changed its mind.')
  expect(waits).toEqual(['DISK_FULL'])
})

test('optional work waits for another program, and for no other error', async () => {
  const problems = [new Problem('DATABASE_BUSY'), new Problem('DATABASE_BUSY')]
  const beganAt = performance.now()
  expect(
    await retryWhileBusy(async () => {
      const problem = problems.shift()
      if (problem) throw problem
      return 'done'
    }),
  ).toBe('done')
  // There is a pause before each attempt, because other tests also need the processor.
  expect(performance.now() - beganAt).toBeGreaterThan(450)
  for (const error of [new Problem('DISK_FULL'), new Error('It changed its mind.')]) {
    let asked = 0
    await expect(
      retryWhileBusy(async () => {
        asked++
        throw error
      }),
    ).rejects.toBe(error)
    expect(asked).toBe(1)
  }
})
