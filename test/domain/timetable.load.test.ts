import { readdirSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

/** The number of simulated days. Each has six periods, at the start of which all due jobs run. */
const days = Number(process.env.BOARD_TEST_DAYS ?? 36)
const watchMs = 4 * 3_600_000
const kept = 4
const start = Date.now()
let nowMs = start

let board: TestBoard
let projectId: string
beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(nowMs) })
  projectId = (await board.client.projects.create({ name: 'Years', path: board.folder('years') })).id
})
afterAll(() => board.close())

const openFiles = () => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)
const bytesIn = (folder: string) =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
const count = async (table: string) =>
  (await board.server.app.db.get<{ total: number }>(`SELECT count(*) AS total FROM ${table}`))!.total
/** The work of one day: creates and deletes a card with a file, repeats a request, and creates a key that expires on the next day. */
async function aDaysWork(day: number): Promise<void> {
  const { id: cardId } = await board.client.cards.create(
    { projectId, title: `Day ${day}`, prompt: 'x'.repeat(1000) },
    { idempotencyKey: `day-${day}` },
  )
  await board.client.attachments.create({ projectId, cardId, file: { path: join(board.dataDir, 'config.json') } })
  await board.client.cards.delete({ projectId, cardId })
  // Files have the time of the machine, and those of the last hour might still be in use.
  const folder = board.server.app.attachmentFiles.folder
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), start / 1000 - 7200, start / 1000 - 7200)
}

test('weeks of the timetable keep exactly the retained rows, files and backups, and leak no open files or memory', async () => {
  const { app } = board.server
  const never = new AbortController().signal
  // The server's own timetable creates no backups, because it would create them by the real time in addition to this one.
  const config = { ...app.config, backupEvery: '4d', backupKeep: kept }
  const timetable = periodicJobs({ ...app, config }).map(job => ({ ...job, dueMs: nowMs }))
  const before = { files: 0, memory: 0 }
  for (let watch = 0; watch < days * 6; watch++) {
    if (watch % 6 === 0) await aDaysWork(watch / 6)
    for (const job of timetable) {
      if (job.dueMs > nowMs) continue
      await job.run(never)
      job.dueMs = nowMs + Math.max(watchMs, job.everySecs * 1000)
    }
    nowMs += watchMs
    if (watch === 6 * 5) Object.assign(before, { files: openFiles(), memory: process.memoryUsage().rss })
  }
  const lived = Math.min(days, 31)
  expect(await count('cards')).toBeLessThanOrEqual(lived)
  expect(await count('cards')).toBeGreaterThanOrEqual(lived - 2)
  // A backup in progress holds the files.
  await eventually('the end of files without a row', async () => {
    await timetable.at(-1)!.run(never)
    return readdirSync(app.attachmentFiles.folder).length === (await count('attachments'))
  })
  expect(await count('idempotent_answers')).toBeLessThanOrEqual(2)
  expect(await count('project_days')).toBeGreaterThanOrEqual(days)
  expect((await board.client.backups.list()).length).toBe(kept)
  expect(bytesIn(join(board.dataDir, 'logs'))).toBeLessThan(40 * 1024 * 1024)
  expect(openFiles()).toBeLessThanOrEqual(before.files + 5)
  expect(process.memoryUsage().rss - before.memory).toBeLessThan(100 * 1024 * 1024)
  process.stdout.write(
    `${days} days: ${await count('cards')} cards, ${before.files} open files then and ${openFiles()} now, ${Math.round((process.memoryUsage().rss - before.memory) / 2 ** 20)} MiB more memory\n`,
  )
})
