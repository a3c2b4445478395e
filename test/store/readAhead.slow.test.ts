import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { Database, Reader, Transaction } from '../../src/store/engine/database.ts'
import { openSharedDatabase } from '../../src/store/engine/open.ts'
import { noLibsqlServer, startLibsqlServer, type LibsqlServer } from '../support/servers/libsqlServer.ts'

/** Forwards messages to a libSQL server, and counts those with statements. */
async function openCounter(url: string) {
  const http = createServer((_, response) => response.end())
  const sockets = new WebSocketServer({ server: http, handleProtocols: ([first]) => first! })
  let messages = 0
  sockets.on('connection', from => {
    const to = new WebSocket(url, from.protocol)
    const early: Buffer[] = []
    from.on('message', (data: Buffer) => {
      if (data.includes('SELECT') || data.includes('COMMIT')) messages++
      if (to.readyState === WebSocket.OPEN) to.send(data)
      else early.push(data)
    })
    to.on('open', () => early.splice(0).forEach(data => to.send(data)))
    to.on('message', data => from.send(data as Buffer))
    from.on('close', () => to.close())
    to.on('close', () => from.close())
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`,
    count: () => messages,
    close: () => {
      for (const socket of sockets.clients) socket.terminate()
      http.close()
    },
  }
}

describe.skipIf(noLibsqlServer !== undefined)('reads that a transaction names ahead', () => {
  let [server, counter, db]: [LibsqlServer?, Awaited<ReturnType<typeof openCounter>>?, Database?] = []
  beforeAll(async () => {
    server = await startLibsqlServer()
    counter = await openCounter(server.url)
    db = await openSharedDatabase({ url: counter.url, host: 'one', clock: () => new Date() })
    await db.transaction(async tx => {
      await tx.run('CREATE TABLE things (name TEXT PRIMARY KEY, size INTEGER)')
      tx.enqueue(`INSERT INTO things VALUES ('a', 1), ('b', 2)`)
    })
  })
  afterAll(async () => {
    await db?.close()
    counter?.close()
    await server?.close()
  })

  const sizeOf = async (reader: Reader, name: string) =>
    (await reader.get<{ size: number }>('SELECT size FROM things WHERE name = ?', [name]))?.size
  const set = (tx: Transaction, name: string, size: number) =>
    tx.enqueue('UPDATE things SET size = ? WHERE name = ?', [size, name])
  const messagesOf = async (work: (tx: Transaction) => Promise<void>) => {
    const before = counter!.count()
    await db!.transaction(work)
    return counter!.count() - before
  }

  test('are sent in one message, and the rest in another', async () => {
    const work = async (tx: Transaction) => {
      const [a, b] = [await sizeOf(tx, 'a'), await sizeOf(tx, 'b')]
      set(tx, 'a', a! + b!)
    }
    expect(await messagesOf(work)).toBe(3)
    const ahead = await messagesOf(async tx => {
      tx.ahead(reader => {
        void sizeOf(reader, 'a')
        void sizeOf(reader, 'b')
      })
      await work(tx)
    })
    expect(ahead).toBe(2)
    expect(await sizeOf(db!, 'a')).toBe(5)
  })

  test('count until any write', async () => {
    const ways: Array<(tx: Transaction) => unknown> = [
      tx => set(tx, 'b', 7),
      tx => tx.run(`UPDATE things SET size = 8 WHERE name = 'b'`),
      tx => tx.get(`UPDATE things SET size = 9 WHERE name = 'b' RETURNING size`),
      tx => tx.all(`WITH two(x) AS (SELECT 10) INSERT OR REPLACE INTO things SELECT 'b', x FROM two RETURNING size`),
    ]
    const seen = await db!.transaction(async tx => {
      const sizes: unknown[] = []
      for (const write of ways) {
        tx.ahead(reader => sizeOf(reader, 'b'))
        await write(tx)
        sizes.push(await sizeOf(tx, 'b'))
      }
      return sizes
    })
    expect(seen).toEqual([7, 8, 9, 10])
  })

  test('fail only for the transaction that awaits them, and do not have to be awaited', async () => {
    const wrong = (reader: Reader) => reader.get('SELECT missing FROM things')
    await db!.transaction(async tx => {
      tx.ahead(wrong)
      await expect(wrong(tx)).rejects.toThrow('missing')
      tx.ahead(wrong)
      set(tx, 'a', 20)
    })
    await expect(
      db!.transaction(async tx => {
        tx.ahead(reader => sizeOf(reader, 'b'))
        throw new Error('enough')
      }),
    ).rejects.toThrow('enough')
    expect(await sizeOf(db!, 'a')).toBe(20)
  })

  /** Doubles a size, including the changes of earlier transactions in the same commit. */
  const double = async (tx: Transaction, name: string) => {
    tx.ahead(reader => sizeOf(reader, name))
    const size = (await sizeOf(tx, name))!
    set(tx, name, size * 2)
    return sizeOf(tx, name)
  }

  test('of the next transaction of a commit are sent with the writes of the previous one', async () => {
    await db!.transaction(async tx => set(tx, 'a', 1))
    const before = counter!.count()
    const sizes = await Promise.all(Array.from({ length: 8 }, () => db!.transaction(tx => double(tx, 'a'))))
    expect(sizes).toEqual([2, 4, 8, 16, 32, 64, 128, 256])
    // One message to begin and read, one per transaction with writes, and one to commit: 10 if all share one commit. On a busy machine
    // they share two or three. Without reads ahead, each transaction sends two.
    expect(counter!.count() - before).toBeLessThan(16)
  })

  test('return the state after the earlier transactions, despite late writes, failures and rollbacks', async () => {
    await db!.transaction(async tx => set(tx, 'a', 1))
    const ways: Array<(tx: Transaction) => Promise<unknown>> = [
      async tx => {
        await double(tx, 'a')
        set(tx, 'a', 100)
      },
      async tx => {
        await double(tx, 'a')
        throw new Error('enough')
      },
      async tx => {
        await double(tx, 'a')
        tx.enqueue(`INSERT INTO things VALUES ('b', 1)`)
      },
      async tx => {
        await double(tx, 'a')
        await tx.get(`UPDATE things SET size = 7 WHERE name = 'a' RETURNING size`)
      },
      async tx => {
        set(tx, 'a', 50)
        tx.ahead(reader => sizeOf(reader, 'a'))
        return sizeOf(tx, 'a')
      },
    ]
    const works = ways.flatMap(way => [way, (tx: Transaction) => double(tx, 'a')])
    const results = await Promise.allSettled(works.map(work => db!.transaction(work)))
    expect(results.map(each => (each.status === 'fulfilled' ? (each.value ?? 'done') : 'failed'))).toEqual([
      'done',
      200,
      'failed',
      400,
      'failed',
      800,
      'done',
      14,
      50,
      100,
    ])
    expect(await sizeOf(db!, 'a')).toBe(100)
  })

  test('distinguish 1 from its text', async () => {
    const typeOf = async (reader: Reader, value: string | number) =>
      (await reader.get<{ type: string }>('SELECT typeof(?) AS type', [value]))?.type
    const types = await db!.transaction(async tx => {
      tx.ahead(reader => typeOf(reader, 1))
      return [await typeOf(tx, '1'), await typeOf(tx, 1)]
    })
    expect(types).toEqual(['text', 'integer'])
  })
})
