import LibsqlDatabase from 'libsql'
import { readdirSync, readlinkSync, existsSync } from 'node:fs'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Reader, Value } from './database.ts'
import { createStatements } from './statements.ts'

export interface Connection extends Reader {
  run(sql: string, args?: readonly Value[]): Promise<{ changes: number; lastId: number }>
  enqueue(sql: string, args?: readonly Value[]): void
  exec(sql: string): void
  /** Undoes what is open. The file is let go when the statements are collected as garbage; see `released`. */
  close(): void
}

/** Enough for the pages that statements share. Those of a large table are hardly met again in four times as much either, and come quickly from the system's memory. */
const cacheKibibytes = 4000

/** Opens a connection to a database file, which is made if it is not there. */
export function openConnection(path: string): Connection {
  const database = new LibsqlDatabase(path)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA synchronous = FULL')
  database.exec('PRAGMA foreign_keys = ON')
  database.exec(`PRAGMA cache_size = -${cacheKibibytes}`)
  database.exec('PRAGMA temp_store = MEMORY')
  const statements = createStatements(database)
  return {
    host: null,
    get: async <T>(sql: string, args: readonly Value[] = []) => statements.get(sql, args) as T | undefined,
    all: async <T>(sql: string, args: readonly Value[] = []) => statements.all(sql, args) as T[],
    run: async (sql, args = []) => {
      const { changes, lastInsertRowid } = statements.run(sql, args)
      return { changes, lastId: Number(lastInsertRowid) }
    },
    enqueue: (sql, args = []) => {
      statements.run(sql, args)
    },
    exec: sql => {
      database.exec(sql)
    },
    close: () => {
      // A connection that is closed lives on until its statements are gone, and so would its transaction.
      try {
        if (database.inTransaction) database.exec('ROLLBACK')
      } catch {
        /* The engine has undone it. */
      }
      statements.clear()
      database.close()
    },
  }
}

const releaseTimeoutMs = 5000
let collectGarbage: (() => void) | undefined

/**
 * Resolves to whether nothing of this process has the database file open any more. The engine lets go of a closed connection
 * only when its statements are collected, and then removes the log by its name: a file that takes this one's place must come after that.
 */
export async function released(path: string): Promise<boolean> {
  setFlagsFromString('--expose-gc')
  collectGarbage ??= runInNewContext('gc') as () => void
  for (const giveUpAt = performance.now() + releaseTimeoutMs; performance.now() < giveUpAt; await delay(20)) {
    collectGarbage()
    // What was collected is let go a moment later.
    for (let turn = 0; turn < 3; turn++) await setImmediate()
    if (!isOpenHere(path)) return true
  }
  return false
}

/** Linux tells which files a process has open. Elsewhere the log tells: the last one who closes the database removes it. */
function isOpenHere(path: string): boolean {
  const folder = '/proc/self/fd'
  if (!existsSync(folder)) return existsSync(`${path}-wal`)
  return readdirSync(folder).some(descriptor => {
    try {
      return [path, `${path}-wal`, `${path}-shm`].includes(readlinkSync(`${folder}/${descriptor}`))
    } catch {
      return false
    }
  })
}
