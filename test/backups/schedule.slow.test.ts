import { afterAll, beforeAll, expect, it } from 'vitest'
import { periodicJobs, type Job } from '../../daemon/process/periodicJobs.ts'
import { parseSchedule } from '../../src/backups/schedule.ts'
import { commandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const startMs = Date.parse('2026-03-01T00:00:00.000Z')
let nowMs = startMs
let board: TestBoard
let job: Job
beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(nowMs) })
  job = backupJob()
})
afterAll(() => board.close())

/** The backup job of a server. This server creates none: its timetable would run the job by the real time. */
const backupJob = () => {
  const { app } = board.server
  const config = { ...app.config, backupEvery: '6h', backupKeep: 3 }
  return periodicJobs({ ...app, config }).find(({ name }) => name.startsWith('create a backup'))!
}
const run = () => job.run(new AbortController().signal)
/** Advances the clock in the steps of the timetable. */
async function pass(hours: number): Promise<void> {
  for (const endMs = nowMs + hours * hourMs; nowMs < endMs;) {
    nowMs += 30 * minuteMs
    await run()
  }
}
const made = async (origin = 'timetable') =>
  (await board.client.backups.list())
    .filter(each => each.origin === origin)
    .map(({ createdAt }) => Math.round((Date.parse(createdAt) - startMs) / minuteMs) / 60)

it('a backup is created immediately, then every six hours, and the newest three are kept in addition to manual ones', async () => {
  await run()
  expect(await made()).toEqual([0])
  await board.client.backups.create()
  await pass(5)
  expect(await made()).toEqual([0])
  await pass(8)
  expect(await made()).toEqual([12, 6, 0])
  await pass(12)
  expect(await made()).toEqual([24, 18, 12])
  expect(await made('request')).toEqual([0])
})

it('a server that was down creates one backup when it is back, and not more', async () => {
  nowMs += 20 * hourMs
  job = backupJob()
  await run()
  await run()
  expect((await made())[0]).toBe(Math.round((nowMs - startMs) / minuteMs) / 60)
  expect(await made()).toHaveLength(3)
})

it('a clock that was set back does not stop it', async () => {
  nowMs -= 200 * hourMs
  job = backupJob()
  await run()
  expect(
    (await board.client.backups.list()).filter(
      ({ origin, createdAt }) => origin === 'timetable' && Date.parse(createdAt) === nowMs,
    ),
  ).toHaveLength(1)
  nowMs += 200 * hourMs
})

it('a failed backup is retried a quarter of an hour later', async () => {
  nowMs += 10 * hourMs
  let attempts = 0
  const { backups } = board.server.app
  const create = backups.create
  backups.create = async (origin, withKey) => {
    attempts++
    if (attempts < 3) throw new Error('out of luck')
    return create(origin, withKey)
  }
  job = backupJob()
  await expect(run()).rejects.toThrow('out of luck')
  for (let minutes = 0; minutes < 14; minutes++) {
    nowMs += minuteMs
    await run()
  }
  expect(attempts).toBe(1)
  nowMs += minuteMs
  await expect(run()).rejects.toThrow('out of luck')
  nowMs += 15 * minuteMs
  await run()
  expect(attempts).toBe(3)
  backups.create = create
})

it('the first backup is created soon after the start of a server that creates backups', async () => {
  const serving = await startBoard({ backupEvery: '6h' })
  await eventually('the first backup', async () => (await serving.client.backups.list())[0]?.origin === 'timetable')
  await serving.close()
})

it('a cron expression is due at its times, and not before', () => {
  const [schedule, since] = [parseSchedule('30 3 * * *'), new Date(2026, 2, 1, 12)]
  expect(schedule(undefined, since)).toEqual(new Date(2026, 2, 2, 3, 30))
  expect(schedule(new Date(2026, 2, 5, 3, 30), since)).toEqual(new Date(2026, 2, 6, 3, 30))
})

it('intervals are given in minutes, hours and days', () => {
  const since = new Date(startMs)
  for (const [text, ms] of [
    ['1m', minuteMs],
    ['90m', 90 * minuteMs],
    ['6h', 6 * hourMs],
    ['2d', 48 * hourMs],
  ] as const)
    expect(parseSchedule(text)(since, since)).toEqual(new Date(startMs + ms))
})

it('an invalid interval keeps the server from starting, and the error names the option', async () => {
  for (const text of ['', '0m', '6', '6 hours', '-1h', '367d', '* * *', '99 * * * *', '0 0 31 2 *', 'never'])
    expect(() => parseSchedule(text), text).toThrow(/^backup-every must be /)
  const cli = commandLine()
  expect(await cli.board(['serve', '--port', '0', '--backup-every', 'never'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^board: backup-every must be an interval such as 30m, 6h or 1d, or a cron expression/,
    ),
  })
  expect(await cli.board(['serve', '--port', '0', '--backup-keep', '0'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--backup-keep'),
  })
  cli.close()
})
