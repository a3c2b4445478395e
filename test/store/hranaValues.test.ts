import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/store/engine/database.ts'
import { openSharedDatabase } from '../../src/store/engine/open.ts'
import { noLibsqlServer, startLibsqlServer, type LibsqlServer } from '../support/servers/libsqlServer.ts'

describe.skipIf(noLibsqlServer !== undefined).each(['ws', 'http'])('a libSQL server over %s', protocol => {
  let [server, db]: [LibsqlServer?, Database?] = []
  beforeAll(async () => {
    server = await startLibsqlServer()
    const url = protocol === 'ws' ? server.url : server.httpUrl
    db = await openSharedDatabase({ url, host: 'one', clock: () => new Date() })
  })
  afterAll(async () => {
    await db?.close()
    await server?.close()
  })

  test('returns values unchanged, with their types', async () => {
    const whole = [
      0,
      1,
      -1,
      63,
      64,
      -64,
      -65,
      2 ** 30,
      2 ** 31,
      2 ** 49,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ]
    const real = [0.5, -1.25, 1e300, 2 ** 60]
    const text = ['', 'a', 'żółć 🎴', 'x'.repeat(127), 'x'.repeat(128), 'long ä '.repeat(30_000)]
    for (const [type, values] of Object.entries({ integer: whole, real, text, null: [null] }))
      for (const value of values)
        expect(await db!.get('SELECT ?1 AS value, typeof(?1) AS type', [value])).toEqual({ value, type })
    const rows = Array.from({ length: 300 }, (_, id) => ({ id, name: id % 3 === 0 ? null : `name ${id}` }))
    expect(
      await db!.all(`SELECT value ->> 'id' AS id, value ->> 'name' AS name FROM json_each(?)`, [JSON.stringify(rows)]),
    ).toEqual(rows)
    expect(await db!.get(`SELECT x'00ff10' AS value`)).toEqual({ value: Uint8Array.of(0, 255, 16).buffer })
  })

  test('returns the changes of each statement, and its error', async () => {
    const results = await db!.transaction(async tx => {
      await tx.run('CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE)')
      tx.enqueue(`INSERT INTO things VALUES (5, 'five')`)
      return [
        await tx.run(`INSERT INTO things (name) VALUES ('a'), ('b')`),
        await tx.run(`UPDATE things SET name = name || '!' WHERE id > 5`),
        await tx.run('DELETE FROM things WHERE id = 99'),
      ]
    })
    expect(results.map(({ changes }) => changes)).toEqual([2, 2, 0])
    expect(results[0]).toMatchObject({ changes: 2, lastId: 7 })
    await expect(db!.get('SELECT missing FROM things')).rejects.toThrow('no such column: missing')
    await expect(db!.transaction(tx => tx.run(`INSERT INTO things VALUES (9, 'five')`))).rejects.toThrow(
      'UNIQUE constraint failed: things.name',
    )
  })

  test('deletes from a full-text table without content, whose internal row IDs exceed 2^53', async () => {
    await db!.transaction(tx => tx.run(`CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1)`))
    for (let id = 1; id <= 60; id++)
      await db!.transaction(async tx => {
        await tx.run('INSERT INTO words (rowid, text) VALUES (?, ?)', [id, `card ${id}`])
        tx.enqueue('DELETE FROM words WHERE rowid = ?', [id - 3])
        await tx.run('INSERT INTO words (rowid, text) SELECT 1, 1 WHERE false')
      })
    expect(await db!.all(`SELECT rowid AS id FROM words WHERE words MATCH 'card' ORDER BY rowid`)).toEqual(
      [58, 59, 60].map(id => ({ id })),
    )
  })

  test('rejects a number that JavaScript cannot represent; over http also the other statements of the request', async () => {
    const asked = ['SELECT 9007199254740993 AS value', 'SELECT 1 AS value'].map(sql => db!.get(sql))
    const [tooLarge, one] = await Promise.allSettled(asked)
    expect(tooLarge).toMatchObject({ status: 'rejected' })
    expect(one).toMatchObject(protocol === 'ws' ? { value: { value: 1 } } : { status: 'rejected' })
  })
})
