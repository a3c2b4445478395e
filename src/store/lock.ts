import LibsqlDatabase from 'libsql'
import { chmodSync } from 'node:fs'

/**
 * Takes a lock that the operating system gives up when this process ends, however it ends: an exclusive transaction on a
 * small file of its own. Returns the function that lets it go, or undefined when another process holds it.
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
