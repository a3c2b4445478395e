import { mkdtempSync, openSync, closeSync, ftruncateSync, readdirSync, symlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keepMigrationCopy } from '../../src/backups/migrationCopy.ts'
import { isFileReleased } from '../../src/store/engine/connection.ts'
import { copyDatabase } from '../../src/store/engine/databaseCopy.ts'
import { migrate, schemaVersion } from '../../src/store/engine/migrate.ts'
import { openDatabase } from '../../src/store/engine/open.ts'

const pages = 2_500_000_000
const pageBytes = 4096
/** The offset of the number of pages in a database's header. */
const pagesAt = 28

async function makeBoard(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'copies-'))
  const path = join(dataDir, 'board.db')
  const db = openDatabase({ path, clock: () => new Date() })
  await migrate(db)
  await db.close()
  expect(await isFileReleased(path)).toBe(true)
  return dataDir
}

/** A sparse database file that claims to be larger than any disk here. */
async function makeHuge(): Promise<string> {
  const dataDir = await makeBoard()
  const path = join(dataDir, 'board.db')
  const file = openSync(path, 'r+')
  const count = Buffer.alloc(4)
  count.writeUInt32BE(pages)
  writeSync(file, count, 0, count.length, pagesAt)
  ftruncateSync(file, pages * pageBytes)
  closeSync(file)
  return dataDir
}

test('a copy without enough disk space is not started, and reports the required space', async () => {
  const dataDir = await makeHuge()
  const refusal = {
    code: 'DISK_FULL',
    message: expect.stringMatching(/requires 10240\.0 GB, and the disk of .* has [\d.]+ GB left/),
  }
  await expect(copyDatabase(join(dataDir, 'board.db'), join(dataDir, 'copy.db'))).rejects.toMatchObject(refusal)
  await expect(keepMigrationCopy(dataDir, schemaVersion, new Date())).rejects.toMatchObject({
    ...refusal,
    message: expect.stringMatching(
      /newer program changes the schema.* requires 10240\.0 GB.*Free disk space, or move .*before-migration to a larger disk/,
    ),
  })
  expect(readdirSync(dataDir)).not.toContain('copy.db')
  expect(readdirSync(join(dataDir, 'before-migration'))).toEqual([])
})

test("the copy before a migration is written to its folder's link target", async () => {
  const [dataDir, disk] = [await makeBoard(), mkdtempSync(join(tmpdir(), 'disk-'))]
  symlinkSync(disk, join(dataDir, 'before-migration'))
  await keepMigrationCopy(dataDir, schemaVersion, new Date())
  expect(readdirSync(disk)).toEqual([expect.stringMatching(/^board-.*\.db$/)])
})
