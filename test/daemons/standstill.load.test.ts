import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shown } from '../e2e/measure.ts'
import { disband, keepWriting, startCrewmate, stopInsideWrite, type Crewmate } from '../e2e/daemonCrew.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { startLibsqlServer, type LibsqlServer } from '../support/servers/libsqlServer.ts'
import { isSharable, secretKey } from './sharing.ts'

const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 1)
const takeOverMs = 5000

describe.skipIf(!isSharable)('a paused daemon', () => {
  const root = mkdtempSync(join(tmpdir(), 'board-still-'))
  let server: LibsqlServer
  let crew: Crewmate[]
  let projectId: string
  let columnId: string

  beforeAll(async () => {
    server = await startLibsqlServer()
    crew = await Promise.all(['a', 'b'].map(name => startCrewmate(name, 'one', server, root, secretKey)))
    mkdirSync(join(root, 'project'))
    const { client } = crew[0]!.board
    projectId = (await client.projects.create({ name: 'Still', path: join(root, 'project') })).id
    columnId = (await client.columns.list({ projectId }))[0]!.id
  })
  afterAll(() => disband(crew, server, root))

  const isAtWork = async ({ board }: Crewmate) =>
    (await board.client.server.daemons().catch(() => [])).some(
      each => each.isThis && each.isThere && each.duties.includes('machine'),
    )
  const workerNow = () =>
    eventually(
      'a daemon at work',
      async () =>
        (await Promise.all(crew.map(async mate => ((await isAtWork(mate)) ? mate : undefined)))).find(mate => mate),
      15_000,
    )

  /** Pauses a daemon, and returns the time. */
  const stopped: Record<string, (worker: Crewmate) => Promise<number>> = {
    outside: async ({ board }) => {
      process.kill(board.pid, 'SIGSTOP')
      return performance.now()
    },
    inside: async worker => {
      const ending = new AbortController()
      for (const writer of [0, 1])
        void keepWriting(worker, projectId, columnId, { signal: ending.signal, pauseMs: 0, writer })
      return stopInsideWrite(worker, server).finally(() => ending.abort())
    },
  }

  it.each(Object.keys(stopped))(
    `%s a write is taken over within ${takeOverMs} ms`,
    async place => {
      const tookMs: number[] = []
      for (let round = 0; round < rounds; round++) {
        await eventually(
          'both ready',
          async () =>
            (
              await Promise.all(
                crew.map(({ board }) =>
                  fetch(`${board.url}/api/ready`).then(
                    ({ ok }) => ok,
                    () => false,
                  ),
                ),
              )
            ).every(Boolean),
          15_000,
        )
        const worker = await workerNow()
        const other = crew.find(mate => mate !== worker)!
        try {
          const stoppedAt = await stopped[place]!(worker)
          await eventually('the other one at work', () => isAtWork(other), 15_000)
          tookMs.push(performance.now() - stoppedAt)
        } finally {
          process.kill(worker.board.pid, 'SIGCONT')
        }
        await eventually(
          'one of them at work',
          async () => (await Promise.all(crew.map(isAtWork))).filter(Boolean).length === 1,
          15_000,
        )
      }
      process.stdout.write(`${place} a write: taken over after ${shown(tookMs)}\n`)
      expect(Math.max(...tookMs)).toBeLessThan(takeOverMs * (rounds > 1 ? 1 : slowdown()))
    },
    30_000 + rounds * 30_000,
  )
})
