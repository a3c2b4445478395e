import LibsqlDatabase from 'libsql'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toEntry } from '../../src/logs/entry.ts'
import { History, historyLimits } from '../../src/logs/history.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'

let root: string
let path: string
let said: string[]
const opened: History[] = []
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-history-'))
  path = join(root, 'logs.db')
  said = []
})
afterEach(() => {
  for (const history of opened.splice(0)) history.close()
  rmSync(root, { recursive: true, force: true })
})

const open = (limits: Partial<typeof historyLimits> = {}): History => {
  const history = new History(path, message => said.push(message), { ...historyLimits, ...limits })
  opened.push(history)
  return history
}
const fill = (history: History, count: number, at = new Date().toISOString(), more = '') => {
  for (let number = 0; number < count; number++) history.add(toEntry('info', `Entry ${number} ${more}`, { number }, at))
}
const all = { level: 0, limit: 1_000_000 }
const size = () =>
  ['', '-wal'].reduce((sum, ending) => sum + (existsSync(path + ending) ? statSync(path + ending).size : 0), 0)
const never = new AbortController().signal
const intoOneFile = () => {
  const database = new LibsqlDatabase(path)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

test('an entry is available immediately, and after a restart, with ascending ids', () => {
  const first = open()
  fill(first, 3)
  const before = first.list(all).map(({ id }) => id)
  expect(before).toEqual([3, 2, 1])
  fill(first, 1)
  first.close()
  const second = open()
  fill(second, 1)
  expect(second.list(all).map(({ id }) => id)).toEqual([5, 4, 3, 2, 1])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a full queue drops new entries, and reports their number', async () => {
  const history = open({ maxQueued: 100 })
  fill(history, 350)
  expect([history.queued, history.dropped]).toEqual([100, 250])
  await eventually('the queue to be written', () => history.queued === 0)
  expect(history.list({ level: 1, limit: 10 })).toMatchObject([
    { message: '250 entries of the log could not be stored.' },
  ])
})

test('a write never blocks others for long', async () => {
  const history = open()
  fill(history, 5000)
  let [maxMs, lastMs] = [0, performance.now()]
  await eventually('the queue to be written', () => {
    maxMs = Math.max(maxMs, performance.now() - lastMs)
    lastMs = performance.now()
    return history.queued === 0
  })
  expect(history.list(all)).toHaveLength(5000)
  expect(maxMs).toBeLessThan(250 * slowdown())
})

test('the file never exceeds its cap, for any entries, and keeps the newest', async () => {
  const maxBytes = 2 * 1024 * 1024
  const history = open({ maxBytes })
  for (let round = 0; round < 12; round++) {
    fill(history, 500, undefined, `${round} ${'words of all kinds '.repeat(40)}`)
    await eventually('the queue to be written', () => history.queued === 0, 15_000)
    expect(statSync(path).size).toBeLessThanOrEqual(maxBytes)
    expect(size()).toBeLessThanOrEqual(maxBytes + 8 * 1024 * 1024)
  }
  const rows = history.list(all)
  expect(rows[0]!.message).toMatch(/^Entry 499 11 /)
  expect(rows.length).toBeLessThan(6000)
  expect([history.dropped, said]).toEqual([0, []])
})

test('pruning deletes entries that are too old or too many, and keeps the newest', async () => {
  const history = open({ maxRows: 700 })
  fill(history, 1000, '2026-01-01T00:00:00.000Z', 'old')
  fill(history, 1000, '2026-06-01T00:00:00.000Z', 'newer')
  await eventually('the queue to be written', () => history.queued === 0)
  await history.prune(never, '2026-03-01T00:00:00.000Z')
  const rows = history.list(all)
  expect([rows.length, rows[0]!.message, rows.at(-1)!.message]).toEqual([700, 'Entry 999 newer', 'Entry 300 newer'])
  expect([
    history.list({ ...all, search: '"old"' }).length,
    history.list({ ...all, search: '"newer"' }).length,
  ]).toEqual([0, 700])
  await history.prune(never, '2099-01-01T00:00:00.000Z')
  expect(history.list(all).map(({ message }) => message)).toEqual(['Entry 999 newer'])
})

describe('a damaged file is moved aside and a new one created, with higher ids', () => {
  const damage: Record<string, () => void> = {
    'that is not a database': () => writeFileSync(path, 'nonsense '.repeat(10_000)),
    'of another version': () => {
      const database = new LibsqlDatabase(path)
      database.exec('PRAGMA user_version = 99')
      database.close()
    },
    'that is truncated': () => writeFileSync(path, readFileSync(path).subarray(0, 9000)),
    'with a page overwritten': () => {
      const file = openSync(path, 'r+')
      for (const page of [1, 2, 3, 4, 5, 6, 7]) writeSync(file, Buffer.alloc(4000, 0xa5), 0, 4000, page * 4096)
      closeSync(file)
    },
  }
  test.each(Object.keys(damage))('%s', async name => {
    const before = open()
    fill(before, 500)
    before.close()
    intoOneFile()
    damage[name]!()
    const after = open()
    fill(after, 200)
    await eventually('the queue to be written', () => after.queued === 0)
    after.close()
    const last = open()
    fill(last, 1, undefined, 'last')
    const rows = last.list({ ...all, search: '"last"' })
    expect(rows).toHaveLength(1)
    expect(rows[0]!.id).toBeGreaterThan(500)
    expect(existsSync(`${path}.damaged`)).toBe(true)
    expect(said[0]).toMatch(
      /^The log's database is damaged and is set aside: |^The log's database was damaged and is set aside: /,
    )
  })
})

test('a path where no database can be created does not block', async () => {
  mkdirSync(path)
  const history = open()
  fill(history, 10)
  await eventually('it to give up', () => history.dropped === 10)
  fill(history, 10)
  history.close()
  expect(said).toEqual([expect.stringMatching(/^Entries of the log cannot be kept: /)])
})
