import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Database, Reader } from '../../src/store/engine/database.ts'
import { openDatabase } from '../../src/store/engine/open.ts'
import { cachedReader } from '../../src/store/engine/cachedReader.ts'

let folder: string
let db: Database
let reader: Reader
let asked: number

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'board-remembering-'))
  db = openDatabase({ path: join(folder, 'board.db'), clock: () => new Date('2026-05-01T12:00:00.000Z') })
  await db.transaction(async tx => {
    await tx.run('CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)')
  })
  asked = 0
  const counted = <T>(read: () => Promise<T>) => {
    asked++
    return read()
  }
  reader = cachedReader({
    ...db,
    get: (sql, args) => counted(() => db.get(sql, args)),
    all: (sql, args) => counted(() => db.all(sql, args)),
  })
})
afterEach(async () => {
  await db.close()
  rmSync(folder, { recursive: true })
})

const write = (text: string) => db.transaction(tx => tx.run('INSERT INTO notes (text) VALUES (?)', [text]))
const read = async (id: number) =>
  (await reader.get<{ text: string }>('SELECT text FROM notes WHERE id = ?', [id]))?.text
const list = async () =>
  (await reader.all<{ text: string }>('SELECT text FROM notes ORDER BY id')).map(({ text }) => text)

test('a repeated read before any commit is not sent to the database', async () => {
  await write('first')
  expect(await Promise.all([read(1), read(1), read(2), list(), list()])).toEqual([
    'first',
    'first',
    undefined,
    ['first'],
    ['first'],
  ])
  expect(asked).toBe(3)
})

test('a listener of a commit reads its writes, also in work that runs once it is on disk', async () => {
  for (let id = 1; id <= 50; id++) {
    const [before, all] = await Promise.all([read(id), list()])
    expect([before, all.length]).toEqual([undefined, id - 1])
    let inEffect: Promise<string | undefined> | undefined
    await db.transaction(async tx => {
      await tx.run('INSERT INTO notes (text) VALUES (?)', [`${id}`])
      expect(await read(id)).toBeUndefined()
      tx.afterCommit(() => {
        inEffect = read(id)
      })
    })
    expect(await inEffect).toBe(`${id}`)
    expect([await read(id), (await list()).length]).toEqual([`${id}`, id])
  }
})

test('a failed read is retried by the next caller', async () => {
  await expect(reader.get('SELECT text FROM later')).rejects.toThrow('no such table')
  await write('unlike a commit')
  await expect(reader.get('SELECT text FROM later')).rejects.toThrow('no such table')
  await expect(reader.get('SELECT text FROM later')).rejects.toThrow('no such table')
  expect(asked).toBe(3)
})

test('each read goes to the database if commits of others cannot be detected', async () => {
  const shared = cachedReader({
    ...db,
    version: async () => undefined,
    get: (sql, args) => {
      asked++
      return db.get(sql, args)
    },
  })
  for (let time = 0; time < 3; time++) await shared.get('SELECT count(*) AS count FROM notes')
  expect(asked).toBe(3)
})

test('the cache is limited, for any number of reads', async () => {
  for (let id = 1; id <= 10_000; id++) await read(id)
  for (const id of [1, 10_000]) await read(id)
  expect(asked).toBe(10_000)
  for (const id of [10_001, 10_001, 1]) await read(id)
  expect(asked).toBe(10_002)
})

test('a large result is not cached', async () => {
  const megabyte = `SELECT hex(zeroblob(500000)) || ? AS text`
  for (let id = 1; id <= 40; id++) await reader.get(megabyte, [id])
  await reader.get(megabyte, [40])
  expect(asked).toBe(40)
  await reader.get(megabyte, [1])
  expect(asked).toBe(41)
})
