import LibsqlDatabase from 'libsql'
import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import type { App } from '../../src/app.ts'
import { seedFolder } from '../bench/seed.ts'

const megabyte = 1024 * 1024
const rows = 8000
/** 20 MB of events. */
const fill = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
  INSERT INTO events (project_id, type, data, at) SELECT 1, 'card.updated', hex(zeroblob(1250)), '2020-01-01T00:00:00.000Z' FROM n`

/** Runs a periodic job now. */
const runJob = (app: App, part: string) =>
  periodicJobs(app)
    .find(({ name }) => name.includes(part))!
    .run(new AbortController().signal)

const sizeOf = (dataDir: string) => statSync(join(dataDir, 'board.db')).size

test('a file shrinks by the deleted data, except for a reserve, and is intact', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'giving-back-'))
  await seedFolder(dataDir, app => app.db.transaction(tx => tx.run(fill)))
  expect(sizeOf(dataDir)).toBeGreaterThan(15 * megabyte)
  expect(asked(dataDir, 'auto_vacuum')).toBe(2)
  await seedFolder(dataDir, async app => {
    await app.db.transaction(tx => tx.run('DELETE FROM events'))
    await runJob(app, 'return freed pages')
  })
  expect(sizeOf(dataDir)).toBeLessThan(7 * megabyte)
  expect(asked(dataDir, 'integrity_check')).toBe('ok')
  // The remaining free pages are for new rows.
  await seedFolder(dataDir, async app => runJob(app, 'return freed pages'))
  expect(sizeOf(dataDir)).toBeGreaterThan(4 * megabyte)
})

function asked(dataDir: string, pragma: string): unknown {
  const database = new LibsqlDatabase(join(dataDir, 'board.db'))
  try {
    return (database.prepare(`PRAGMA ${pragma}`).all([])[0] as Record<string, unknown>)[pragma]
  } finally {
    database.close()
  }
}
