import { join } from 'node:path'
import { retry } from '../async/retry.ts'
import type { Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import { Problem } from '../contract/errors.ts'
import type { Database, EmbeddedDatabase } from '../store/engine/database.ts'
import { openDatabase, openSharedDatabase } from '../store/engine/open.ts'
import { requireFinished } from '../store/engine/boardCopy.ts'
import { migrate, presentVersion } from '../store/engine/migrate.ts'
import { reportDamage, hadDatabase, markDatabase, requireDatabase } from './damage.ts'
import { lacksLog, markUse, requireLatestEvents, warnOfCopy } from './databaseUse.ts'
import { databaseName } from './manifest.ts'
import { movedTo } from './moveDatabase.ts'
import { keepMigrationCopy } from './migrationCopy.ts'

const maxWaitMs = 30_000
const retryMs = 250

/**
 * Opens the configured database and migrates it to this program's version.
 * @throws Problem DATABASE_DAMAGED, DISK_FULL, DATABASE_BUSY if a libSQL server is unreachable, CONFLICT if a newer board has
 * used it
 */
export const openData = (config: Pick<ServerConfig, 'dataDir' | 'database' | 'clock'>, log: Log): Promise<Database> =>
  config.database ? openShared({ ...config.database, clock: config.clock }, log) : openOwn(config, log)

/** If several daemons start at once, one migrates, and the others wait. */
async function openShared(options: Parameters<typeof openSharedDatabase>[0], log: Log): Promise<Database> {
  const db = await openSharedDatabase(options)
  const giveUpAt = performance.now() + maxWaitMs
  const prepare = async () => {
    await migrate(db)
    await requireFinished(db)
  }
  const delayMs = (error: unknown, failures: number) => {
    if (!(error instanceof Problem && error.code === 'DATABASE_BUSY' && performance.now() < giveUpAt)) return undefined
    if (failures === 1)
      log('warn', `The database server does not answer yet; retrying for at most ${maxWaitMs / 1000} seconds.`, {
        cause: ((error.cause ?? error) as Error).message,
      })
    return retryMs
  }
  try {
    await retry(prepare, { delayMs })
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}

/** A board that was moved to a server is not created again here. */
async function requireHere(dataDir: string): Promise<void> {
  const to = await movedTo(dataDir)
  if (to !== undefined)
    throw new Problem(
      'CONFLICT',
      `The board of this data folder has moved to ${to}. Serve it with --database ${to}, or move it back: board database move --from ${to}`,
    )
}

/**
 * Opens the database of a data folder and migrates it to this program's version, after storing a copy. A data folder that had a
 * database never gets a new one.
 * @throws Problem DATABASE_DAMAGED, DISK_FULL, CONFLICT if a newer board has used it
 */
async function openOwn({ dataDir, clock }: Pick<ServerConfig, 'dataDir' | 'clock'>, log: Log): Promise<Database> {
  await requireHere(dataDir)
  await requireDatabase(dataDir, log)
  const isCopy = await lacksLog(dataDir)
  let isOpen = false
  let db: EmbeddedDatabase | undefined
  try {
    if (isCopy) await requireLatestEvents(dataDir)
    const onDamage = (problem: Problem) =>
      isOpen ? reportDamage(dataDir, log, 'the engine cannot read it', problem) : Promise.resolve(problem)
    db = openDatabase({ path: join(dataDir, databaseName), clock, onDamage })
    if ((await presentVersion(db)) === 0 && (await hadDatabase(dataDir)))
      throw new Problem('DATABASE_DAMAGED', undefined, { cause: new Error('The database contains no board.') })
    if (isCopy) await warnOfCopy(db, dataDir, log)
    await migrate(db, present => keepMigrationCopy(dataDir, present, clock()))
    await markDatabase(dataDir, clock())
    const used = await markUse(db, dataDir, clock)
    isOpen = true
    return used
  } catch (error) {
    const problem =
      error instanceof Problem && error.code === 'DATABASE_DAMAGED'
        ? await reportDamage(dataDir, log, reasonOf(error), error.cause)
        : error
    await db?.close()
    throw problem
  }
}

const reasonOf = ({ cause, message }: Problem): string =>
  (cause instanceof Error ? cause.message : message).replace(/\.$/, '').replace(/^[A-Z]/, first => first.toLowerCase())
