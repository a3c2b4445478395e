import { createClient as createDatabaseClient } from '@libsql/client'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shown } from '../e2e/measure.ts'
import { disband, startCrewmate, type Crewmate } from '../e2e/daemonCrew.ts'
import { eventually, slowdown } from '../helper.ts'
import { startLibsqlServer, type LibsqlServer } from '../libsqlServer.ts'
import { isSharable, secretKey } from './sharing.ts'

const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 1)
const takeOverMs = 5000

describe.skipIf(!isSharable)('a daemon that stands still', () => {
  const root = mkdtempSync(join(tmpdir(), 'board-still-'))
  let server: LibsqlServer
  let crew: Crewmate[]

  beforeAll(async () => {
    server = await startLibsqlServer()
    crew = await Promise.all(['a', 'b'].map(name => startCrewmate(name, 'one', server, root, secretKey)))
  })
  afterAll(() => disband(crew, server, root))

  const isAtWork = async ({ board }: Crewmate) => (await board.client.server.daemons().catch(() => [])).some(each => each.isThis && each.isThere && each.duties.includes('machine'))
  const workerNow = () => eventually('a daemon at work', async () => (await Promise.all(crew.map(async mate => await isAtWork(mate) ? mate : undefined))).find(mate => mate), 15_000)

  it.each(['inside', 'outside'])(`%s a write is taken over within ${takeOverMs} ms`, async place => {
    const tookMs: number[] = []
    for (let round = 0; round < rounds; round++) {
      await eventually('both ready', async () => (await Promise.all(crew.map(({ board }) => fetch(`${board.url}/api/ready`).then(({ ok }) => ok, () => false)))).every(Boolean), 15_000)
      const worker = await workerNow()
      const other = crew.find(mate => mate !== worker)!
      const client = createDatabaseClient({ url: server.url })
      process.kill(worker.board.pid, 'SIGSTOP')
      const began = performance.now()
      // What somebody has begun to write holds everybody else up, as if it were the one that stands still; unless that one was inside a write itself.
      const write = place === 'inside' ? await client.transaction('write') : undefined
      if (performance.now() - began > 1000) await write?.rollback()
      else await write?.execute('DELETE FROM tickets WHERE id = 0')
      try {
        await eventually('the other one at work', () => isAtWork(other), 15_000)
        tookMs.push(performance.now() - began)
      } finally {
        process.kill(worker.board.pid, 'SIGCONT')
        write?.close()
        client.close()
      }
      await eventually('one of them at work', async () => (await Promise.all(crew.map(isAtWork))).filter(Boolean).length === 1, 15_000)
    }
    process.stdout.write(`${place} a write: taken over after ${shown(tookMs)}\n`)
    expect(Math.max(...tookMs)).toBeLessThan(takeOverMs * (rounds > 1 ? 1 : slowdown()))
  }, 30_000 + rounds * 30_000)
})
