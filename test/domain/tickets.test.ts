import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createSeal } from '../../src/identity/seal.ts'
import { createTickets } from '../../src/identity/tickets.ts'
import { openDatabase } from '../../src/store/engine/open.ts'
import type { Database } from '../../src/store/engine/database.ts'
import { migrate } from '../../src/store/engine/migrate.ts'

const at = { ms: 0 }
const folder = mkdtempSync(join(tmpdir(), 'board-tickets-'))
const seal = createSeal({ secretKey: Buffer.alloc(32, 1).toString('base64'), dataDir: '' })
let db: Database
let kinds = 0

beforeAll(async () => {
  db = openDatabase({ path: join(folder, 'board.db'), clock: () => new Date(at.ms) })
  await migrate(db)
})
beforeEach(() => {
  kinds++
})
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

const tickets = (maxKept: number, kind = `kind ${kinds}`) =>
  createTickets<string>(kind, { db, seal }, { maxKept, lifeMs: 1000 })

test('a value that is stored under a secret is returned once', async () => {
  const kept = tickets(10)
  await kept.keep('a', 'one')
  expect([await kept.take('b'), await kept.take('a'), await kept.take('a')]).toEqual([undefined, 'one', undefined])
})

test('of several concurrent readers one gets the value', async () => {
  const kept = tickets(10)
  await kept.keep('a', 'one')
  expect((await Promise.all(Array.from({ length: 20 }, () => kept.take('a')))).filter(Boolean)).toEqual(['one'])
})

test('a stored value is deleted after its time', async () => {
  const kept = tickets(10)
  await kept.keep('a', 'one')
  await kept.keep('b', 'two')
  at.ms += 999
  expect(await kept.take('a')).toBe('one')
  at.ms += 1
  expect(await kept.take('b')).toBeUndefined()
  await kept.keep('c', 'three')
  expect(await db.all('SELECT count(*) AS rows FROM tickets')).toEqual([{ rows: 1 }])
})

test('above the maximum the oldest values are deleted, and none of another kind', async () => {
  const [kept, others] = [tickets(3), tickets(3, 'other')]
  await others.keep('a', 'kept')
  for (const secret of ['a', 'b', 'c', 'd', 'e']) await kept.keep(secret, secret)
  expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(secret => kept.take(secret)))).toEqual([
    undefined,
    undefined,
    'c',
    'd',
    'e',
  ])
  expect(await others.take('a')).toBe('kept')
})

test('the database holds neither a secret nor its value', async () => {
  await tickets(3).keep('the-secret', 'the-value')
  expect(JSON.stringify(await db.all('SELECT * FROM tickets'))).not.toMatch(/the-secret|the-value/)
})
