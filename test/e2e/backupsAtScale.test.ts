import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hashOfBoard } from '../backups/boardState.ts'
import { seedBoard } from '../bench/seed.ts'
import { hideAgents } from '../helper.ts'
import { boardProcess, clearAway, type BoardProcess } from './boardProcess.ts'
import LibsqlDatabase from 'libsql'

/** BOARD_TEST_CARDS=100000 for the large board by hand. */
const cards = Number(process.env.BOARD_TEST_CARDS ?? 20_000)
const mostHealthMs = 100
const mostBackupAndRestoreMs = 5000

let root: string
let dataDir: string
let board: BoardProcess
beforeEach(() => { root = mkdtempSync(join(tmpdir(), 'board-scale-')) })
afterEach(() => clearAway(board, root))

async function start(size: number): Promise<void> {
  hideAgents(join(root, 'data'))
  ;({ dataDir } = await seedBoard(root, [size]))
  board = boardProcess(dataDir, { HOME: root })
}

/** Gives each card an attachment of 2 KiB, straight into the data folder. */
function attach(size: number): void {
  const database = new LibsqlDatabase(join(dataDir, 'board.db'))
  database.exec('BEGIN')
  const insert = database.prepare('INSERT INTO attachments (card_id, filename, content_type, size, sha256, stored_as, created_at) SELECT id, ?, ?, ?, ?, ?, created_at FROM cards ORDER BY id LIMIT 1 OFFSET ?')
  for (let number = 0; number < size; number++) {
    const [bytes, storedAs] = [randomBytes(2048), randomBytes(16).toString('hex')]
    writeFileSync(join(dataDir, 'attachments', storedAs), bytes, { mode: 0o600 })
    insert.run(['notes.bin', 'application/octet-stream', bytes.length, createHash('sha256').update(bytes).digest('hex'), storedAs, number])
  }
  database.exec('COMMIT')
  database.close()
}

const timed = async <T>(work: () => Promise<T>): Promise<{ result: T; tookMs: number }> => {
  const startedAt = performance.now()
  return { result: await work(), tookMs: Math.round(performance.now() - startedAt) }
}

it(`a board of 10,000 cards with attachments is backed up and restored within ${mostBackupAndRestoreMs / 1000} s, to the last row and file`, async () => {
  await start(10_000)
  attach(10_000)
  await board.start()
  const before = hashOfBoard(dataDir)
  const { result: { filename, size }, tookMs: backupMs } = await timed(() => board.client.backups.create())
  await board.client.projects.update({ id: 1, name: 'Changed' })
  const { tookMs: restoreMs } = await timed(() => board.client.backups.restore({ filename }))
  expect(hashOfBoard(dataDir)).toBe(before)
  console.log(`Backup ${backupMs} ms (${Math.round(size / 1024)} KiB), restore ${restoreMs} ms.`)
  expect(backupMs).toBeLessThan(mostBackupAndRestoreMs)
  expect(restoreMs).toBeLessThan(mostBackupAndRestoreMs)
}, 120_000)

it(`health answers within ${mostHealthMs} ms while a backup of ${cards} cards is made, and writes go on`, async () => {
  await start(cards)
  await board.start()
  const healthMs: number[] = []
  const writeMs: number[] = []
  let isMade = false
  const ask = async () => { while (!isMade) { healthMs.push((await timed(health)).tookMs); await delay(2) } }
  const write = async () => { while (!isMade) { writeMs.push((await timed(() => board.client.cards.create({ projectId: 1, title: 'Meanwhile', deferred: true }))).tookMs); await delay(20) } }
  const asking = Promise.all([ask(), ask(), write()])
  const { tookMs } = await timed(async () => { for (let round = 0; round < 3; round++) await board.client.backups.create() })
  isMade = true
  await asking
  console.log(`Three backups of ${cards} cards in ${tookMs} ms. Health p50 ${quantile(healthMs, 0.5)}, p99 ${quantile(healthMs, 0.99)}, most ${Math.max(...healthMs)} ms of ${healthMs.length}; writes p50 ${quantile(writeMs, 0.5)}, p99 ${quantile(writeMs, 0.99)} ms of ${writeMs.length}.`)
  expect(healthMs.length).toBeGreaterThan(50)
  expect(quantile(healthMs, 0.99)).toBeLessThan(mostHealthMs)
}, 300_000)

const quantile = (values: number[], part: number) => [...values].sort((a, b) => a - b)[Math.floor(values.length * part)]!

const health = () => new Promise<void>((resolve, reject) => {
  request(`${board.url}/api/health`, response => { response.resume().on('end', resolve) }).on('error', reject).end()
})
