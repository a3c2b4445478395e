import LibsqlDatabase from 'libsql'
import { chmodSync } from 'node:fs'

/**
 * Takes a lock that the operating system releases when this process ends, however it ends: an exclusive transaction on
 * a small file of its own. @returns the function that releases it; undefined when another process holds it
 */
export function takeLock(path: string): (() => void) | undefined {
  const database = new LibsqlDatabase(path)
  chmodSync(path, 0o600)
  try {
    database.exec('BEGIN EXCLUSIVE')
    return () => {
      database.exec('ROLLBACK')
      database.close()
    }
  } catch {
    database.close()
    return undefined
  }
}
