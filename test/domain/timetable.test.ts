import { afterAll, beforeAll, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { startTimetable } from '../../daemon/process/timetable.ts'
import { Problem } from '../../src/contract/errors.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: TestBoard
let ahead = 0
const hourMs = 3_600_000
const dayMs = 24 * hourMs

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(Date.now() + ahead) })
})
afterAll(() => board.close())

const runAll = async () => {
  for (const job of periodicJobs(board.server.app)) await job.run(new AbortController().signal)
}

test('an idempotent response is repeated for a day, and then deleted', async () => {
  const { id: projectId } = await board.client.projects.create({ name: 'Project', path: board.folder('project') })
  const create = async () =>
    (
      await board.request('POST', '/api/cards', {
        body: { projectId, title: 'once' },
        headers: { 'idempotency-key': 'k' },
      })
    ).body.data.id
  const first = await create()
  ahead += dayMs - hourMs
  await runAll()
  expect(await create()).toBe(first)
  ahead += 2 * hourMs
  await runAll()
  expect(await create()).not.toBe(first)
})

test('a sign-in token is kept for a day after its expiry', async () => {
  const { token } = await board.client.auth.setup({ email: 'root@example.com', password: 'correct horse' })
  const answer = async () => (await board.request('GET', '/api/auth/me', { token })).body.error.code
  ahead += 30 * dayMs + hourMs
  await runAll()
  expect(await answer()).toBe('TOKEN_EXPIRED')
  ahead += dayMs
  await runAll()
  expect(await answer()).toBe('UNAUTHENTICATED')
})

test('a failed job is logged, as a warning if the failure is temporary, runs again, and blocks no other; no job overlaps itself, and stopping waits for it', async () => {
  const log: string[] = []
  let [failures, rounds, atOnce, maxConcurrent] = [0, 0, 0, 0]
  const slow = async () => {
    maxConcurrent = Math.max(maxConcurrent, ++atOnce)
    await new Promise(resolve => {
      setTimeout(resolve, 20)
    })
    atOnce--
    rounds++
  }
  const timetable = startTimetable(
    board.server.app,
    (level, message, fields) => {
      log.push(`${level} ${message} ${fields?.cause}`)
    },
    [
      {
        name: 'fail',
        everySecs: 0.001,
        run: async () => {
          failures++
          throw new Error('out of luck')
        },
      },
      { name: 'find the database busy', everySecs: 1000, run: () => Promise.reject(new Problem('DATABASE_BUSY')) },
      { name: 'be slow', everySecs: 0.001, run: slow },
    ],
  )
  await eventually('some rounds', () => failures > 3 && rounds > 3)
  await timetable.stop()
  expect([atOnce, maxConcurrent]).toEqual([0, 1])
  expect(log[0]).toMatch(/^error A periodic job failed: fail\. Error: out of luck/)
  expect(log.find(line => line.includes('find the database busy'))).toMatch(/^warn A periodic job failed/)
})
