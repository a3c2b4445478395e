import fc from 'fast-check'
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UniqueViolation, type Database, type Transaction } from '../../src/store/engine/database.ts'
import { openDatabase, openSharedDatabase } from '../../src/store/engine/open.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { noLibsqlServer, startLibsqlServer, type LibsqlServer } from '../support/servers/libsqlServer.ts'
import { suspendProcess } from '../support/processes/suspendProcess.ts'

const clock = () => new Date()
let folder: string
let server: LibsqlServer
const engines: Array<{ name: string; isHere: boolean; open(): Promise<Database> }> = [
  { name: 'a file', isHere: true, open: async () => openDatabase({ path: join(folder, 'board.db'), clock }) },
  {
    name: 'a libSQL server over a WebSocket',
    isHere: noLibsqlServer === undefined,
    open: () => openSharedDatabase({ url: server.url, host: 'one', clock }),
  },
  {
    name: 'a libSQL server over HTTP',
    isHere: noLibsqlServer === undefined,
    open: () => openSharedDatabase({ url: server.httpUrl, host: 'one', clock }),
  },
]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'board-transactions-'))
  if (noLibsqlServer === undefined) server = await startLibsqlServer()
})
afterAll(async () => {
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

for (const { name, isHere, open } of engines)
  describe.skipIf(!isHere)(`on ${name}`, () => {
    let db: Database
    beforeAll(async () => {
      db = await open()
      await db.transaction(async tx => {
        await tx.run('DROP TABLE IF EXISTS things')
        await tx.run('CREATE TABLE things (name TEXT PRIMARY KEY)')
        await tx.run(`INSERT INTO things VALUES ('taken')`)
      })
    })
    afterAll(() => db.close())

    const add = (tx: Transaction, thing: string) => tx.enqueue('INSERT INTO things VALUES (?)', [thing])
    const names = async () =>
      (await db.all<{ name: string }>(`SELECT name FROM things WHERE name <> 'taken' ORDER BY name`)).map(
        each => each.name,
      )
    const all = (works: Array<(tx: Transaction) => Promise<unknown>>) =>
      Promise.allSettled(works.map(work => db.transaction(work)))

    test('a statement uses its own parameters, after any earlier use, also after a failure', async () => {
      const one = "SELECT json_extract(?, '$.one') AS one"
      expect(await db.all(one, ['{"one":1}'])).toEqual([{ one: 1 }])
      expect(await db.get(one, ['{"one":2}'])).toEqual({ one: 2 })
      for (const ask of [db.get, db.all]) await expect(ask(one, ['{'])).rejects.toThrow(/JSON/)
      expect(await db.get(one, ['{"one":3}'])).toEqual({ one: 3 })
      expect(await db.all(one, ['{"one":4}'])).toEqual([{ one: 4 }])
      expect(await db.get(`${one} WHERE ?2`, ['{}', 0])).toBeUndefined()
      expect(await db.get(`${one} WHERE ?2`, ['{"one":5}', 1])).toEqual({ one: 5 })
      const rename = 'UPDATE things SET name = ?1 WHERE name = ?2'
      await db.transaction(async tx => {
        expect(await tx.all(`${rename} RETURNING name`, ['taken once', 'taken'])).toEqual([{ name: 'taken once' }])
        expect(await tx.get(`${rename} RETURNING name`, ['taken twice', 'taken once'])).toEqual({ name: 'taken twice' })
        expect(await tx.all(rename, ['taken thrice', 'taken twice'])).toEqual([])
        expect(await tx.run(rename, ['taken', 'taken thrice'])).toMatchObject({ changes: 1 })
      })
    })

    test('sent writes are visible to the next statement and after the commit', async () => {
      const seen = await db.transaction(async tx => {
        add(tx, 'sent')
        return tx.all(`SELECT name FROM things WHERE name = 'sent'`)
      })
      expect(seen).toEqual([{ name: 'sent' }])
      expect(await names()).toContain('sent')
    })

    test('an unawaited statement that fails rolls back its transaction alone, as the first, a middle or the last', async () => {
      for (const place of [0, 1, 2]) {
        const works = [0, 1, 2].map(number => async (tx: Transaction) => {
          add(tx, `${place}-${number}`)
          if (number === place) add(tx, 'taken')
          return number
        })
        const results = await all(works)
        expect(results.map(({ status }) => status)).toEqual(
          [0, 1, 2].map(number => (number === place ? 'rejected' : 'fulfilled')),
        )
        expect((results[place] as PromiseRejectedResult).reason).toBeInstanceOf(UniqueViolation)
        expect((await names()).filter(each => each.startsWith(`${place}-`))).toEqual(
          [0, 1, 2].filter(number => number !== place).map(number => `${place}-${number}`),
        )
      }
    })

    test('an awaited statement can fail, and the transaction continues', async () => {
      await db.transaction(async tx => {
        add(tx, 'before')
        await expect(tx.run(`INSERT INTO things VALUES ('taken')`)).rejects.toThrow('UNIQUE')
        add(tx, 'after')
      })
      expect(await names()).toEqual(expect.arrayContaining(['after', 'before']))
    })

    test('parameters keep their types, and invalid ones are rejected', async () => {
      const sent = [true, false, undefined, null, 5, -2.5, 'x', 2 ** 40]
      const rows = await db.all<{ value: unknown; type: string }>(
        sent.map((_, at) => `SELECT ?${at + 1} AS value, typeof(?${at + 1}) AS type`).join(' UNION ALL '),
        sent,
      )
      expect(rows.map(({ value }) => value)).toEqual([1, 0, null, null, 5, -2.5, 'x', 2 ** 40])
      expect(rows[4]!.type === 'integer' || name === 'a file').toBe(true)
      for (const wrong of name === 'a file' ? [{}, []] : [Number.NaN, Infinity]) {
        await expect(db.all('SELECT ?', [wrong as never])).rejects.toThrow('A parameter must be')
        await expect(db.transaction(tx => tx.run('INSERT INTO things VALUES (?)', [wrong as never]))).rejects.toThrow(
          'A parameter must be',
        )
      }
    })

    test('effects run only for committed transactions', async () => {
      const effects: string[] = []
      await all(
        ['kept', 'lost'].map(which => async tx => {
          tx.afterCommit(() => effects.push(which))
          add(tx, which)
          if (which === 'lost') add(tx, 'taken')
        }),
      )
      expect(effects).toEqual(['kept'])
    })

    test('a batch returns its rows, and is applied completely or not at all, next to other work', async () => {
      const others = all(['other', 'another'].map(which => async tx => add(tx, which)))
      const results = await db.batch([
        { sql: 'INSERT INTO things VALUES (?) RETURNING name', args: ['together 1'] },
        { sql: `INSERT INTO things VALUES ('together 2')` },
        { sql: `SELECT count(*) AS n FROM things WHERE name LIKE 'together%'` },
      ])
      expect(results).toEqual([[{ name: 'together 1' }], [], [{ n: 2 }]])
      await expect(
        db.batch([
          { sql: 'INSERT INTO things VALUES (?)', args: ['half'] },
          { sql: `INSERT INTO things VALUES ('taken')` },
        ]),
      ).rejects.toThrow('UNIQUE')
      await db.batch([{ sql: `INSERT INTO things VALUES ('after half')` }])
      await others
      expect(await names()).toEqual(
        expect.arrayContaining(['together 1', 'together 2', 'other', 'another', 'after half']),
      )
      expect(await names()).not.toContain('half')
    })

    test('concurrent work leaves the same state as sequential work', { timeout: 120_000 }, async () => {
      const step = fc.constantFrom('send', 'run', 'read', 'together', 'refused', 'refused unseen', 'throw')
      let round = 0
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { minLength: 1, maxLength: 12 }), async jobs => {
          const prefix = `model-${round++}-`
          const results = await all(jobs.map((steps, job) => tx => perform(tx, steps, `${prefix}${job}-`)))
          const isKept = (steps: string[]) => !steps.includes('throw') && !steps.includes('refused unseen')
          expect(results.map(({ status }) => status)).toEqual(
            jobs.map(steps => (isKept(steps) ? 'fulfilled' : 'rejected')),
          )
          const expected = jobs.flatMap((steps, job) =>
            isKept(steps) ? steps.flatMap((each, at) => written(each).map(part => `${prefix}${job}-${at}${part}`)) : [],
          )
          expect((await names()).filter(each => each.startsWith(prefix)).sort()).toEqual(expected.sort())
        }),
        { numRuns: Number(process.env.BOARD_TEST_ROUNDS ?? 40) },
      )
    })

    const written = (step: string) => (step === 'together' ? ['a', 'b'] : step === 'send' || step === 'run' ? [''] : [])
    async function perform(tx: Transaction, steps: readonly string[], prefix: string): Promise<void> {
      for (const [at, each] of steps.entries()) {
        if (each === 'send') add(tx, `${prefix}${at}`)
        if (each === 'run') expect((await tx.run('INSERT INTO things VALUES (?)', [`${prefix}${at}`])).changes).toBe(1)
        if (each === 'read')
          expect(
            (await tx.get<{ total: number }>('SELECT count(*) AS total FROM things WHERE substr(name, 1, ?1) = ?2', [
              prefix.length,
              prefix,
            ]))!.total,
          ).toBe(steps.slice(0, at).flatMap(written).length)
        if (each === 'together')
          await Promise.all(['a', 'b'].map(part => tx.run('INSERT INTO things VALUES (?)', [`${prefix}${at}${part}`])))
        if (each === 'refused') await expect(tx.run(`INSERT INTO things VALUES ('taken')`)).rejects.toThrow('UNIQUE')
        if (each === 'refused unseen') add(tx, 'taken')
        if (each === 'throw') throw new Error('It changed its mind.')
      }
    }

    if (name !== 'a file')
      test('an ended transaction accepts no statements, whether it was committed or rolled back', async () => {
        const over: Transaction[] = []
        await all(
          [undefined, new Error('It changed its mind.')].map(error => async tx => {
            over.push(tx)
            if (error) throw error
          }),
        )
        expect(over).toHaveLength(2)
        for (const tx of over) {
          await expect(tx.run(`INSERT INTO things VALUES ('late')`)).rejects.toThrow()
          expect(() => add(tx, 'late')).toThrow()
        }
        expect(await names()).not.toContain('late')
      })

    if (name !== 'a file')
      test('a transaction that the server has ended writes nothing and is not repeated, and the next one succeeds', async () => {
        let begun = 0
        await expect(
          db.transaction(async tx => {
            begun++
            await tx.run(`INSERT INTO things VALUES ('first half')`)
            await server.kill()
            await server.restart()
            add(tx, 'second half')
            await tx.get('SELECT 1')
          }),
        ).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
        await db.transaction(async tx => add(tx, `whole on ${name}`))
        expect((await names()).filter(each => each.endsWith('half') || each.startsWith('whole'))).toEqual(
          expect.arrayContaining([`whole on ${name}`]),
        )
        expect(await names()).not.toContain('second half')
        expect(begun).toBe(1)
      })
  })

describe.skipIf(noLibsqlServer !== undefined)('a libSQL server', () => {
  const tokenOf = (key: KeyObject) => {
    const [head, body] = [{ alg: 'EdDSA', typ: 'JWT' }, { a: 'rw' }].map(part =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    return `${head}.${body}.${sign(null, Buffer.from(`${head}.${body}`), key).toString('base64url')}`
  }

  test('that requires a token rejects another one or none', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const guarded = await startLibsqlServer({ jwtKey: publicKey.export({ format: 'jwk' }).x! })
    for (const url of [guarded.url, guarded.httpUrl]) {
      for (const token of [undefined, tokenOf(generateKeyPairSync('ed25519').privateKey)])
        await expect(openSharedDatabase({ url, token, host: 'one', clock })).rejects.toMatchObject({
          code: 'UNAUTHENTICATED',
        })
      const db = await openSharedDatabase({ url, token: tokenOf(privateKey), host: 'one', clock })
      expect([
        await db.get('SELECT 1 AS one'),
        await db.transaction(tx => tx.get('SELECT 2 AS two')),
        await db.snapshot(reader => reader.get('SELECT 3 AS three')),
      ]).toEqual([{ one: 1 }, { two: 2 }, { three: 3 }])
      await db.close()
    }
    await guarded.close()
  })

  test('whose connection stops responding gets a new one', async () => {
    const sockets: Socket[] = []
    const between = createServer(socket => {
      const onward = connect(Number(new URL(server.url).port), '127.0.0.1')
      sockets.push(socket, onward)
      for (const each of [socket, onward])
        each.on('error', () => {
          /* The other transaction ends with it. */
        })
      socket.pipe(onward).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(between, 'listening')
    const db = await openSharedDatabase({
      url: `ws://127.0.0.1:${(between.address() as AddressInfo).port}`,
      host: 'one',
      clock,
    })
    const asked = () =>
      Promise.all(
        [
          db.get('SELECT 1 AS one'),
          db.transaction(tx => tx.get('SELECT 1 AS one')),
          db.batch([{ sql: 'SELECT 1 AS one' }]),
        ].map(each =>
          each.then(
            () => 'well',
            ({ code }) => code,
          ),
        ),
      )
    await eventually('answers', async () => (await asked()).every(each => each === 'well'))
    for (const socket of sockets.splice(0)) socket.unpipe().pause()
    expect(await asked()).toEqual(['DATABASE_BUSY', 'DATABASE_BUSY', 'DATABASE_BUSY'])
    await eventually('answers over another connection', async () => (await asked()).every(each => each === 'well'))
    await db.close()
    for (const socket of sockets) socket.destroy()
    between.close()
  })

  test('that is paused or down is reported as busy to readers and writers, and works again when it is back', async () => {
    for (const url of [server.url, server.httpUrl]) {
      const db = await openSharedDatabase({ url, host: 'one', clock })
      const asked = () =>
        Promise.allSettled([
          db.get('SELECT 1 AS one'),
          db.transaction(tx => tx.get('SELECT 1 AS one')),
          db.batch([{ sql: 'SELECT 1 AS one' }]),
        ])
      const answers = async () => (await asked()).map(each => (each.status === 'fulfilled' ? 'well' : each.reason.code))
      const untilWell = () => eventually('answers', async () => (await answers()).every(each => each === 'well'))
      await untilWell()
      await suspendProcess(server.process().pid!)
      const stoppedAt = performance.now()
      await expect(db.get('SELECT 1 AS one')).rejects.toMatchObject({
        code: 'DATABASE_BUSY',
        message: 'The database server does not respond. Try again.',
      })
      expect(performance.now() - stoppedAt).toBeGreaterThan(1300)
      server.process().kill('SIGCONT')
      await untilWell()
      await server.kill()
      expect(await answers()).toEqual(['DATABASE_BUSY', 'DATABASE_BUSY', 'DATABASE_BUSY'])
      await server.restart()
      await untilWell()
      await db.close()
    }
  })
})
