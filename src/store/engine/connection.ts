import LibsqlDatabase from 'libsql'
import { readdirSync, readlinkSync, existsSync } from 'node:fs'
import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { collectGarbage } from '../../system/collectGarbage.ts'
import type { Reader, Value } from './database.ts'
import { givesBack } from './reclaimPages.ts'
import { createStatements } from './statements.ts'

export interface Connection extends Reader {
  run(sql: string, args?: readonly Value[]): Promise<{ changes: number; lastId: number }>
  enqueue(sql: string, args?: readonly Value[]): void
  exec(sql: string): void
  /** Rolls back an open transaction. The file stays open until the statements are garbage-collected; see `isFileReleased`. */
  close(): void
}

/**
 * The cache of pages that statements share. A cache of four times the size hardly increases the hits in a large table, whose
 * pages are in the page cache anyway.
 */
const cacheKibibytes = 4000

/** The log is truncated to this size after a long snapshot made it grow. */
const keptLogBytes = 64 * 1024 * 1024

/**
 * Opens a connection to a database file, and creates the file if it does not exist.
 * @param isNew whether the file is empty; a new file can release the pages that deletions free
 */
export function openConnection(path: string, isNew = false): Connection {
  const database = new LibsqlDatabase(path)
  if (isNew) database.exec(givesBack)
  database.exec('PRAGMA journal_mode = WAL')
  database.exec(`PRAGMA journal_size_limit = ${keptLogBytes}`)
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
      // A closed connection stays until its statements are garbage-collected, and an open transaction stays with it.
      try {
        if (database.inTransaction) database.exec('ROLLBACK')
      } catch {
        /* The engine has already rolled back. */
      }
      statements.clear()
      database.close()
    },
  }
}

const releaseTimeoutMs = 5000

/**
 * Resolves to whether this process has no open handle of the database file. The engine releases a closed connection
 * only when its statements are collected, and then deletes the log by its name: replace the file only after that.
 */
export async function isFileReleased(path: string): Promise<boolean> {
  for (const giveUpAt = performance.now() + releaseTimeoutMs; performance.now() < giveUpAt; await delay(20)) {
    await collectGarbage()
    // Handles are released some turns after their collection.
    for (let turn = 0; turn < 3; turn++) await setImmediate()
    if (!isOpenHere(path)) return true
  }
  return false
}

/**
 * Linux lists a process's open files. On other systems, the log shows whether the file is open: the last connection that closes deletes the
 * log.
 */
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
