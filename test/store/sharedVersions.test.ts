import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cachedReader, versionOfRequests } from '../../src/store/engine/cachedReader.ts'
import type { Database, Reader } from '../../src/store/engine/database.ts'
import { openSharedDatabase } from '../../src/store/engine/open.ts'
import { noLibsqlServer, startLibsqlServer, type LibsqlServer } from '../support/servers/libsqlServer.ts'

describe.skipIf(noLibsqlServer !== undefined)('daemons that cache reads of a shared database', () => {
  let server: LibsqlServer
  let [one, two]: [Database?, Database?] = []
  let asked = 0
  let reader: Reader

  beforeAll(async () => {
    server = await startLibsqlServer()
    const open = (host: string) => openSharedDatabase({ url: server.url, host, clock: () => new Date() })
    ;[one, two] = [await open('one'), await open('two')]
    await one.transaction(async tx => {
      await tx.run('CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)')
      await tx.run('CREATE TABLE beats (id INTEGER PRIMARY KEY, at TEXT)')
      tx.enqueue(`INSERT INTO notes VALUES (1, 'first')`)
    })
    const counted: Database = {
      ...one,
      get: (sql, args) => {
        asked++
        return one!.get(sql, args)
      },
    }
    reader = cachedReader(counted, versionOfRequests(counted))
  })
  afterAll(async () => {
    await Promise.all([one?.close(), two?.close()])
    await server?.close()
  })

  const beat = (db: Database) => db.batch([{ sql: 'INSERT INTO beats (at) VALUES (?)', args: ['now'] }])
  const write = (db: Database, text: string) =>
    db.transaction(async tx => tx.enqueue('UPDATE notes SET text = ? WHERE id = 1', [text]))
  const read = async () => (await reader.get<{ text: string }>('SELECT text FROM notes WHERE id = 1'))?.text

  test('read again after any commit, but not after their own heartbeat', async () => {
    await read()
    const before = asked
    for (let time = 0; time < 5; time++) {
      await beat(one!)
      expect(await read()).toBe('first')
    }
    expect(asked).toBe(before)
    await beat(two!)
    expect(await read()).toBe('first')
    expect(asked).toBe(before + 1)
    await write(one!, 'of one')
    expect(await read()).toBe('of one')
    await write(two!, 'of two')
    expect(await read()).toBe('of two')
    expect(asked).toBe(before + 3)
  })

  test('show all writes, for any interleaving of heartbeats, reads and writes', async () => {
    for (let round = 1; round <= 60; round++) {
      const [by, text] = [[one!, two!][round % 2]!, `round ${round}`]
      const beats = beat(one!)
      const reads = Array.from({ length: 8 }, read)
      await write(by, text)
      expect(await Promise.all([read(), read()])).toEqual([text, text])
      await Promise.all([beats, ...reads])
      expect(await read()).toBe(text)
    }
  })

  test('date a read within the response to another from after its request', async () => {
    for (let round = 1; round <= 30; round++) {
      const text = `again ${round}`
      const [, seen] = await Promise.all([read(), write(two!, text).then(() => read().then(async () => read()))])
      expect(seen).toBe(text)
    }
  })

  test('can read while a heartbeat waits for another daemon', async () => {
    let release = () => {}
    const stalled = new Promise<void>(resolve => (release = resolve))
    let began = () => {}
    const isOpen = new Promise<void>(resolve => (began = resolve))
    const writing = two!.transaction(async tx => {
      await tx.get('SELECT 1 AS one')
      began()
      await stalled
    })
    await isOpen
    const beats = beat(one!).then(() => 'beaten')
    expect(await Promise.race([read().then(() => 'read'), beats])).toBe('read')
    expect(await one!.version()).toBeUndefined()
    release()
    await writing
    expect(await beats).toBe('beaten')
    expect(await one!.version()).toBeTypeOf('number')
  })
})
