import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database, Value } from '../../src/store/engine/database.ts'
import { openSharedDatabase } from '../../src/store/engine/open.ts'
import { noLibsqlServer, startLibsqlServer, type LibsqlServer } from '../support/servers/libsqlServer.ts'

describe.skipIf(noLibsqlServer !== undefined)('concurrent reads of a libSQL server', () => {
  let [server, db]: [LibsqlServer?, Database?] = []
  beforeAll(async () => {
    server = await startLibsqlServer()
    db = await openSharedDatabase({ url: server.url, host: 'one', clock: () => new Date() })
    await db.transaction(async tx => {
      await tx.run('CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, data TEXT)')
      for (let id = 1; id <= 40; id++)
        tx.enqueue('INSERT INTO things VALUES (?, ?, ?)', [
          id,
          `thing "${id}"\n`,
          id === 13 ? 'no JSON' : `{"id":${id}}`,
        ])
    })
  })
  afterAll(async () => {
    await db?.close()
    await server?.close()
  })

  const askAll = (sql: string, sets: ReadonlyArray<readonly Value[]>, shared = 0) =>
    Promise.allSettled(sets.map(args => db!.get<{ value: string }>(sql, args, { shared }))).then(results =>
      results.map(each => (each.status === 'fulfilled' ? each.value?.value : (each.reason as Error).message)),
    )
  const numbers = Array.from({ length: 45 }, (_, at) => at + 1)

  test('return the same as separate reads', async () => {
    const names = await askAll(
      'SELECT name AS value FROM things WHERE id = ?1',
      numbers.map(id => [id]),
    )
    expect(names).toEqual(numbers.map(id => (id <= 40 ? `thing "${id}"\n` : undefined)))
    const types = [1, '1', null, 'a "quote"\u0001', 1.5, true, -3]
    expect(
      await askAll(
        `SELECT typeof(?1) || ' ' || coalesce(?1, '') AS value`,
        types.map(each => [each]),
      ),
    ).toEqual(['integer 1', 'text 1', 'null ', 'text a "quote"\u0001', 'real 1.5', 'integer 1', 'integer -3'])
  })

  test('can share one statement if they are equal', async () => {
    const sql = `SELECT group_concat(id) AS value FROM (SELECT id FROM things WHERE id > ?2 AND id <> ?3 ORDER BY id LIMIT ?1)`
    const sets = numbers.slice(0, 20).map(id => [id % 2 === 0 ? 2 : 3, id, id + 1])
    expect(await askAll(sql, sets, 1)).toEqual(
      sets.map(([limit, id]) =>
        [2, 3, 4]
          .slice(0, limit)
          .map(more => id! + more)
          .join(),
      ),
    )
  })

  test('fail separately', async () => {
    const found = await askAll(
      `SELECT json_extract(data, '$.id') || '' AS value FROM things WHERE id = ?1`,
      numbers.slice(0, 20).map(id => [id]),
    )
    expect(found.map((each, at) => (at === 12 ? each?.includes('malformed JSON') : each))).toEqual(
      numbers.slice(0, 20).map(id => (id === 13 ? true : String(id))),
    )
  })
})
