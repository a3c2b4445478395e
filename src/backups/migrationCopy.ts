import { open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makePrivateFolder, syncFolder } from '../config/folders.ts'
import { Problem } from '../contract/errors.ts'
import { copyDatabase, findDamage } from '../store/engine/databaseCopy.ts'
import { databaseName } from './manifest.ts'

const folderName = 'before-migration'
const maxKept = 3

/**
 * Stores a verified copy of the database on disk before its schema is changed, and keeps the two previous copies. To return to an
 * older program, stop the server and replace `board.db` with the copy.
 * @throws Problem DISK_FULL, DATABASE_DAMAGED: in this case, the schema must not be changed
 */
export async function keepMigrationCopy(dataDir: string, schemaVersion: number, now: Date): Promise<void> {
  const folder = join(dataDir, folderName)
  makePrivateFolder(folder)
  for (const name of await readdir(folder)) if (name.endsWith('.part')) await rm(join(folder, name))
  const path = join(folder, `board-${now.toISOString().replaceAll(':', '-')}-v${schemaVersion}.db`)
  await copyDatabase(join(dataDir, databaseName), `${path}.part`).catch(async error => {
    await rm(`${path}.part`, { force: true })
    throw error instanceof Problem && error.code === 'DISK_FULL' ? noRoom(folder, error) : error
  })
  const damage = await findDamage(`${path}.part`, true)
  if (damage !== undefined)
    throw new Problem(
      'DATABASE_DAMAGED',
      `The database is damaged, so its schema is not changed: ${damage.slice(0, 200)}`,
    )
  await syncFile(`${path}.part`)
  await rename(`${path}.part`, path)
  await syncFolder(folder)
  const copies = (await readdir(folder)).filter(name => /^board-[\w.-]+-v\d+\.db$/.test(name)).sort()
  for (const name of copies.slice(0, -maxKept)) await rm(join(folder, name))
}

const noRoom = (folder: string, problem: Problem) =>
  new Problem(
    'DISK_FULL',
    `Before this newer program changes the schema of the board's database, it stores a copy. ${problem.message} Free disk space, or move ${folder} to a larger disk and replace it with a link.`,
    { cause: problem },
  )

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.chmod(0o600)
    await file.sync()
  } finally {
    await file.close()
  }
}
