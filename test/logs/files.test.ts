import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { toEntry } from '../../src/logs/entry.ts'
import { createFiles } from '../../src/logs/files.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { fillDisk, mayMount, mountDisk, unmountDisk } from '../support/processes/smallDisk.ts'

const limits = { maxFiles: 3, maxBytesEach: 20_000, maxBuffered: 1024 * 1024 }
let root: string
let folder: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-logs-'))
  folder = join(root, 'logs')
})
afterEach(() => {
  vi.useRealTimers()
  if (mayMount) unmountDisk(folder)
  rmSync(root, { recursive: true, force: true })
})

const sizes = () => Object.fromEntries(readdirSync(folder).map(name => [name, statSync(join(folder, name)).size]))
const lines = () =>
  ['board.2.log', 'board.1.log', 'board.log']
    .filter(name => readdirSync(folder).includes(name))
    .flatMap(name => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
    .map(line => JSON.parse(line) as Record<string, unknown>)
const open = (said: string[] = [], more: Partial<typeof limits> = {}) =>
  createFiles(folder, message => said.push(message), { ...limits, ...more })
const entry = (number: number) => toEntry('info', `Entry ${number} is about ünïcode`, { source: 'test', number })

test('events are lines of JSON, readable by this account only', async () => {
  const files = open()
  files.add(toEntry('warn', 'Something is odd.', { source: 'http', requestId: 'r-1', status: 503 }))
  await files.close()
  expect(lines()).toEqual([
    {
      level: 'warn',
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      source: 'http',
      requestId: 'r-1',
      status: 503,
      message: 'Something is odd.',
    },
  ])
  expect([statSync(folder).mode & 0o777, statSync(join(folder, 'board.log')).mode & 0o777]).toEqual([0o700, 0o600])
})

test('a burst of any size never exceeds the cap at any moment, and the newest lines are kept', async () => {
  const files = open()
  let maxBytes = 0
  for (let number = 0; number < 6000; number++) {
    files.add(entry(number))
    if (number % 500 === 499) {
      maxBytes = Math.max(maxBytes, ...Object.values(sizes()))
      await new Promise(setImmediate)
      maxBytes = Math.max(maxBytes, ...Object.values(sizes()))
    }
  }
  await files.close()
  expect(Object.keys(sizes()).sort()).toEqual(['board.1.log', 'board.2.log', 'board.log'])
  expect(Math.max(maxBytes, ...Object.values(sizes()))).toBeLessThanOrEqual(limits.maxBytesEach)
  const numbers = lines().map(({ number }) => number as number)
  expect(numbers.at(-1)).toBe(5999)
  expect(numbers).toEqual(numbers.map((_, at) => numbers[0]! + at))
  expect(files.figures().dropped).toBe(0)
})

test('after a restart it continues in the same file, and restores its mode', async () => {
  const first = open()
  first.add(entry(1))
  await first.close()
  chmodSync(join(folder, 'board.log'), 0o644)
  const second = open()
  second.add(entry(2))
  await second.close()
  expect(lines().map(({ number }) => number)).toEqual([1, 2])
  expect(statSync(join(folder, 'board.log')).mode & 0o777).toBe(0o600)
})

test('an error is written immediately, and so are all entries when the process is about to end', async () => {
  // No later write is needed after a while.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const whole = async (count: number) => {
    const [text, waitedAt] = [() => readFileSync(join(folder, 'board.log'), 'utf8'), performance.now()]
    while (text().split('\n').length <= count && performance.now() - waitedAt < 20_000) await new Promise(setImmediate)
    return lines().map(({ message }) => message)
  }
  const files = open()
  files.add(entry(1))
  files.add(toEntry('error', 'It ends.'))
  expect(await whole(2)).toEqual(['Entry 1 is about ünïcode', 'It ends.'])
  files.add(entry(2))
  files.flushSync()
  expect(await whole(3)).toHaveLength(3)
})

test('a folder that cannot be created does not block: lost lines are counted, and reported once', async () => {
  writeFileSync(folder, 'a file')
  const said: string[] = []
  const files = open(said)
  for (let number = 0; number < 3; number++) files.add(toEntry('error', 'Lost.'))
  await files.close()
  expect(files.figures().dropped).toBe(3)
  expect(said).toEqual([expect.stringMatching(/^The log's file cannot be written: /)])
})

test('a folder that is deleted during writing is recreated with the next file', async () => {
  const files = open()
  for (let number = 0; number < 50; number++) files.add(entry(number))
  files.flushSync()
  rmSync(folder, { recursive: true })
  for (let number = 50; number < 400; number++) files.add(entry(number))
  await files.close()
  expect(lines().at(-1)!.number).toBe(399)
})

test('a disk that is slower than the log loses whole lines, and counts them', async () => {
  const files = open([], { maxBytesEach: 100_000_000, maxBuffered: 100_000 })
  mkdirSync(folder, { recursive: true })
  for (let number = 0; number < 20_000; number++) files.add(entry(number))
  await files.close()
  const kept = lines()
  expect(files.figures().dropped).toBeGreaterThan(0)
  expect(kept.length + files.figures().dropped).toBe(20_000)
})

test.skipIf(!mayMount)(
  'a disk that was full until the queue overflowed accepts lines again as soon as there is space',
  async () => {
    mkdirSync(folder)
    mountDisk(folder, '1m')
    const files = open([], { maxBuffered: 1000 })
    const empty = fillDisk(folder)
    await eventually('an overflow of the queue', () => {
      files.add(toEntry('error', 'No room.'))
      return files.figures().dropped > 0
    })
    empty()
    await eventually('a new line in the file', () => {
      files.add(toEntry('error', 'Room again.'))
      return readFileSync(join(folder, 'board.log'), 'utf8').includes('Room again.')
    })
    await files.close()
    expect(new Set(lines().map(({ message }) => message))).toEqual(new Set(['No room.', 'Room again.']))
  },
)
