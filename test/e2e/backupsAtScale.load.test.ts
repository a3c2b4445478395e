import LibsqlDatabase from 'libsql'
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { hashOfBoard } from '../backups/boardState.ts'
import { seedBoard } from '../bench/seed.ts'
import { grouped } from '../bench/works.ts'
import { figuresOf } from '../support/run/writtenFigures.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'
import { statOf } from '../support/processes/processFiles.ts'

/** BOARD_TEST_CARDS=100000 BOARD_TEST_ATTACHMENT_BYTES=20480 for a large board: 2 GB of attachments. */
const cards = Number(process.env.BOARD_TEST_CARDS ?? 20_000)
const attached = Number(process.env.BOARD_TEST_CARDS ?? 10_000)
const attachmentBytes = Number(process.env.BOARD_TEST_ATTACHMENT_BYTES ?? 2048)
const isByHand = process.env.BOARD_TEST_CARDS !== undefined
const maxHealthMs = 100
const maxBackupAndRestoreMs = 5000
// A large board on a slow disk takes minutes.
vi.setConfig({ testTimeout: 900_000 })
const note = figuresOf('test/e2e/backupsAtScale.load.test.ts', {
  BOARD_TEST_CARDS: process.env.BOARD_TEST_CARDS,
  BOARD_TEST_ATTACHMENT_BYTES: process.env.BOARD_TEST_ATTACHMENT_BYTES,
})

let root: string
let dataDir: string
let board: BoardProcess
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-scale-'))
})
afterEach(() => clearAway(board, root))

async function start(size: number): Promise<void> {
  hideAgents(join(root, 'data'))
  ;({ dataDir } = await seedBoard(root, [size]))
  board = boardProcess(dataDir, { HOME: root })
}

/** Gives each card an attachment, directly in the data folder. */
function attach(size: number): void {
  const database = new LibsqlDatabase(join(dataDir, 'board.db'))
  database.exec('BEGIN')
  const insert = database.prepare(
    'INSERT INTO attachments (card_id, filename, content_type, size, sha256, stored_as, created_at) SELECT id, ?, ?, ?, ?, ?, created_at FROM cards WHERE id = ?',
  )
  const ids = database.prepare('SELECT id FROM cards ORDER BY id LIMIT ?').all([size]) as Array<{ id: number }>
  for (const { id } of ids) {
    const [bytes, storedAs] = [randomBytes(attachmentBytes), randomBytes(16).toString('hex')]
    writeFileSync(join(dataDir, 'attachments', storedAs), bytes, { mode: 0o600 })
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    insert.run(['notes.bin', 'application/octet-stream', bytes.length, sha256, storedAs, id])
  }
  database.exec('COMMIT')
  database.close()
}

/** Runs the work, and measures its duration and the server's processor time: the load of this machine affects only the former. */
const timed = async <T>(work: () => Promise<T>): Promise<{ result: T; tookMs: number; workedMs: number }> => {
  const [startedAt, workedBefore] = [performance.now(), workedMs()]
  const result = await work()
  const tookMs = Math.round(performance.now() - startedAt)
  return { result, tookMs, workedMs: workedBefore === undefined ? tookMs : workedMs()! - workedBefore }
}

/** The processor time of the server, if the system reports it. */
function workedMs(): number | undefined {
  const fields = statOf(board.pid)
  if (fields.length === 1) return undefined
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** The time to copy the board's files to disk. */
function copyMs(): number {
  const startedAt = performance.now()
  cpSync(dataDir, join(root, 'copy'), { recursive: true })
  execFileSync('sync')
  const tookMs = performance.now() - startedAt
  rmSync(join(root, 'copy'), { recursive: true })
  return Math.round(tookMs)
}

it(`a board of 10,000 cards with attachments is backed up and restored within ${maxBackupAndRestoreMs / 1000} s, to the last row and file`, async () => {
  await start(attached)
  attach(attached)
  const copiedMs = copyMs()
  await board.start()
  const before = hashOfBoard(dataDir)
  const {
    result: { filename, size },
    ...backup
  } = await timed(() => board.client.backups.create())
  await board.client.projects.update({ id: 1, name: 'Changed' })
  const restore = await timed(() => board.client.backups.restore({ filename }))
  expect(hashOfBoard(dataDir)).toBe(before)
  console.log(
    `Backup ${backup.tookMs} ms (${backup.workedMs} ms of work, ${Math.round(size / 1024)} KiB), restore ${restore.tookMs} ms (${restore.workedMs} ms of work), its files copied ${copiedMs} ms.`,
  )
  const twice = { atMost: (2 * copiedMs) / 1000 }
  note(`${grouped(attached)} cards with ${grouped(attachmentBytes)} bytes attached: a backup has`, size / 1e6, 'MB')
  note('… its files copied once', copiedMs / 1000, 's')
  note('… a backup', backup.tookMs / 1000, 's', twice)
  note('… a restore that keeps the replaced data as a backup', restore.tookMs / 1000, 's', twice)
  note('… processor time of the backup', backup.workedMs / 1000, 's')
  note('… processor time of the restore', restore.workedMs / 1000, 's')
  if (isByHand) return
  expect(backup.workedMs).toBeLessThan(maxBackupAndRestoreMs * slowdown())
  expect(restore.workedMs).toBeLessThan(maxBackupAndRestoreMs * slowdown())
})

it(`health responds within ${maxHealthMs} ms during a backup of ${cards} cards, and writes continue`, async () => {
  await start(cards)
  await board.start()
  const idleMs: number[] = []
  for (let number = 0; number < 300; number++) idleMs.push((await timed(health)).tookMs)
  const healthMs: number[] = []
  const writeMs: number[] = []
  let isMade = false
  const ask = async () => {
    while (!isMade) {
      healthMs.push((await timed(health)).tookMs)
      await delay(2)
    }
  }
  const write = async () => {
    while (!isMade) {
      writeMs.push(
        (await timed(() => board.client.cards.create({ projectId: 1, title: 'Meanwhile', deferred: true }))).tookMs,
      )
      await delay(20)
    }
  }
  const asking = Promise.all([ask(), ask(), write()])
  const { tookMs } = await timed(async () => {
    for (let round = 0; round < 3; round++) await board.client.backups.create()
  })
  isMade = true
  await asking
  console.log(
    `Three backups of ${cards} cards in ${tookMs} ms. Health p50 ${quantile(healthMs, 0.5)}, p99 ${quantile(healthMs, 0.99)}, most ${Math.max(...healthMs)} ms of ${healthMs.length}; writes p50 ${quantile(writeMs, 0.5)}, p99 ${quantile(writeMs, 0.99)} ms of ${writeMs.length}.`,
  )
  expect(healthMs.length).toBeGreaterThan(50)
  // A busy machine responds late even without a backup.
  expect(quantile(healthMs, 0.99)).toBeLessThan(maxHealthMs + quantile(idleMs, 0.99))
  note(`health during three backups of ${grouped(cards)} cards, p99`, quantile(healthMs, 0.99), 'ms', {
    atMost: maxHealthMs,
    beside: quantile(idleMs, 0.99),
  })
  note('… writes, p99', quantile(writeMs, 0.99), 'ms')
})

const quantile = (values: number[], part: number) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * part)]!

const health = () =>
  new Promise<void>((resolve, reject) => {
    request(`${board.url}/api/health`, response => {
      response.resume().on('end', resolve)
    })
      .on('error', reject)
      .end()
  })
