import { copyFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { keepMigrationCopy } from '../../../src/backups/migrationCopy.ts'
import { schemaVersion } from '../../../src/store/engine/migrate.ts'
import { note, type Figures } from '../figures.ts'
import { seedFolder } from '../seed.ts'
import type { FilledBoard } from './boards.ts'

const gigabyte = 1024 ** 3

/** Measures operations that read everything: a backup, and the copy before a migration, next to a plain file copy. */
export async function measureCopies(side: string, { dataDir }: FilledBoard, figures: Figures): Promise<void> {
  const path = join(dataDir, 'board.db')
  await seedFolder(dataDir, async app => {
    const gigabytes = statSync(path).size / gigabyte
    const perGigabyte = async (name: string, work: () => Promise<unknown>) =>
      note(figures, `${side}/${name}, s a GB`, (await timed(work)) / gigabytes)
    note(figures, `${side}/copied file, MB`, gigabytes * 1024)
    await perGigabyte('a copy of the file', async () => copyFileSync(path, `${path}.copy`))
    rmSync(`${path}.copy`)
    await perGigabyte('backup', async () => {
      const { filename, size } = await app.backups.create('request', false)
      note(figures, `${side}/backup, part of the file`, size / gigabyte / gigabytes)
      await app.backups.remove(filename)
    })
    await perGigabyte('copy before a migration', () => keepMigrationCopy(dataDir, schemaVersion, new Date()))
    rmSync(join(dataDir, 'before-migration'), { recursive: true })
  })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1000
}
