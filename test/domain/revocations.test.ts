import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRevocations, type Ended } from '../../src/identity/revocations.ts'
import type { Database } from '../../src/store/engine/database.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openDatabase, openSharedDatabase } from '../../src/store/engine/open.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { noLibsqlServer, startLibsqlServer } from '../support/servers/libsqlServer.ts'

const clock = () => new Date()
const ends: Ended[] = [{ tokenHash: 'a' }, { userId: 1 }, { signInsOf: 2 }, { keyId: 3 }]

/** A listener that holds connections open for callers, and the revocations it received. */
function listening(db: Database) {
  const revocations = createRevocations(db)
  const heard: Ended[] = []
  return {
    heard,
    stop: revocations.onRevoked(ended => {
      heard.push(ended)
    }),
    revocations,
    end: (ended: Ended) => db.transaction(tx => revocations.announce(tx, ended)),
  }
}

it('a revocation is published after the commit, and a rolled-back one is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'board-revocations-'))
  const db = openDatabase({ path: join(folder, 'board.db'), clock })
  const { heard, stop, revocations, end } = listening(db)
  for (const ended of ends) await end(ended)
  await expect(
    db.transaction(async tx => {
      await revocations.announce(tx, { keyId: 4 })
      throw new Error('It changed its mind.')
    }),
  ).rejects.toThrow('It changed its mind.')
  expect(heard).toEqual(ends)
  stop()
  await end({ keyId: 5 })
  expect(heard).toEqual(ends)
  revocations.close()
  await db.close()
  rmSync(folder, { recursive: true })
})

describe.skipIf(noLibsqlServer !== undefined)('daemons that share a database', () => {
  it('receive the revocations of others, in order and once, and none from before their start', async () => {
    const server = await startLibsqlServer()
    const dbs = await Promise.all([1, 2].map(() => openSharedDatabase({ url: server.url, host: 'one', clock })))
    await migrate(dbs[0]!)
    const one = listening(dbs[0]!)
    await one.end({ keyId: 9 })
    const two = listening(dbs[1]!)
    const isFirst = (ended: Ended) => 'tokenHash' in ended && ended.tokenHash.startsWith('first')
    // The first received event proves that it is listening.
    await eventually('a first word', async () => {
      await one.end({ tokenHash: `first ${performance.now()}` })
      return two.heard.some(isFirst)
    })
    for (const ended of ends) await one.end(ended)
    await eventually('the last word', () => two.heard.some(ended => 'keyId' in ended && ended.keyId === 3))
    expect(two.heard.filter(ended => !isFirst(ended))).toEqual(ends)
    await two.end({ userId: 7 })
    await eventually('the word of the other', () => one.heard.some(ended => 'userId' in ended && ended.userId === 7))
    two.revocations.close()
    one.revocations.close()
    for (const db of dbs) await db.close()
    await server.close()
  })
})
