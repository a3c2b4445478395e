import { join } from 'node:path'
import type { Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import { openDatabase, type Database } from '../store/database.ts'
import { migrate, presentVersion } from '../store/migrate.ts'
import { damaged, hadDatabase, markDatabase, requireDatabase } from './damage.ts'
import { databaseName } from './manifest.ts'
import { keepMigrationCopy } from './migrationCopy.ts'

/**
 * Opens the database of a data folder and brings it up to this program's version; a copy from before is kept. A data folder that had
 * a database never gets a new one.
 * @throws Problem DATABASE_DAMAGED, DISK_FULL, CONFLICT when a newer board has used it
 */
export async function openData({ dataDir, clock }: Pick<ServerConfig, 'dataDir' | 'clock'>, log: Log): Promise<Database> {
  await requireDatabase(dataDir, log)
  let isOpen = false
  let db: Database | undefined
  try {
    const onDamage = (problem: Problem) => isOpen ? damaged(dataDir, log, 'the engine cannot read it', problem) : Promise.resolve(problem)
    db = openDatabase({ path: join(dataDir, databaseName), clock, onDamage })
    if (await presentVersion(db) === 0 && await hadDatabase(dataDir)) throw new Problem('DATABASE_DAMAGED', undefined, { cause: new Error('It holds no board.') })
    await migrate(db, present => keepMigrationCopy(dataDir, present, clock()))
    await markDatabase(dataDir, clock())
    isOpen = true
    return db
  } catch (error) {
    const problem = error instanceof Problem && error.code === 'DATABASE_DAMAGED' ? await damaged(dataDir, log, reasonOf(error), error.cause) : error
    await db?.close()
    throw problem
  }
}

const reasonOf = ({ cause, message }: Problem): string => (cause instanceof Error ? cause.message : message).replace(/\.$/, '').replace(/^[A-Z]/, first => first.toLowerCase())
