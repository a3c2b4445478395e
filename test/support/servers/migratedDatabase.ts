import { copyFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseName } from '../../../src/backups/manifest.ts'
import { serverDefaults } from '../../../src/config/server.ts'
import { migrate } from '../../../src/store/engine/migrate.ts'
import { openDatabase } from '../../../src/store/engine/open.ts'

/** One template for the boards of this process. */
let migrated: Promise<string> | undefined

/** Gives a new data folder, which contains at most a configuration, an empty database of this version, because creating the schema takes 15 ms. */
export async function provideDatabase(dataDir: string): Promise<void> {
  if (readdirSync(dataDir).some(name => name !== 'config.json')) return
  migrated ??= makeDatabase(join(tmpdir(), `migrated-${process.pid}.db`))
  copyFileSync(await migrated, join(dataDir, databaseName))
}

async function makeDatabase(path: string): Promise<string> {
  const db = openDatabase({ path, clock: serverDefaults.clock })
  await migrate(db)
  await db.close()
  return path
}
