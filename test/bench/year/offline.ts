import { statSync } from 'node:fs'
import { join } from 'node:path'
import { jobs } from '../../../daemon/process/periodicJobs.ts'
import type { App } from '../../../src/app.ts'
import { keepMigrationCopy } from '../../../src/backups/migrationCopy.ts'
import { giveBackPages } from '../../../src/store/givingBack.ts'
import { schemaVersion } from '../../../src/store/migrate.ts'
import { purgeMessages } from '../../../src/store/transcripts.ts'
import { note, type Figures } from '../figures.ts'
import { seedFolder } from '../seed.ts'
import type { FilledBoard } from './boards.ts'

const gigabyte = 1024 ** 3
const pagesAStep = 200
const [eventsAStep, messagesAStep] = [5000, 500]
/** How many of the cards are deleted, so that what they said is purged. */
const deletedShare = 0.5

/** What needs no request: copies of everything, pruning, and what the file gives back afterwards. */
export async function measureOffline(side: string, { dataDir, project }: FilledBoard, figures: Figures): Promise<void> {
  const path = join(dataDir, 'board.db')
  await seedFolder(dataDir, async app => {
    const gigabytes = statSync(path).size / gigabyte
    note(figures, `${side}/file, MB`, gigabytes * 1024)
    const backupMs = await timed(() => app.backups.create('request', false))
    note(figures, `${side}/backup, s a GB`, backupMs / 1000 / gigabytes)
    const copyMs = await timed(() => keepMigrationCopy(dataDir, schemaVersion, new Date()))
    note(figures, `${side}/copy before a migration, s a GB`, copyMs / 1000 / gigabytes)
    await steps(app, side, `prune ${eventsAStep} events, ms`, tx => app.outbox.prune(tx), figures)
    await app.db.transaction(tx =>
      tx.run(`UPDATE cards SET deleted_at = '2020-01-01T00:00:00.000Z' WHERE id < ?`, [
        project.firstCardId + project.cards * deletedShare,
      ]),
    )
    await steps(
      app,
      side,
      `purge ${messagesAStep} messages, ms`,
      tx => purgeMessages(tx, '2021-01-01', messagesAStep),
      figures,
    )
    await runJob(app, 'give back', side, figures)
  })
  note(figures, `${side}/file after pruning, MB`, statSync(path).size / 1024 / 1024)
}

/** Does bounded pieces of work until nothing is left, and notes how long each took. */
async function steps(
  app: App,
  side: string,
  name: string,
  step: (tx: Parameters<Parameters<App['db']['transaction']>[0]>[0]) => Promise<number>,
  figures: Figures,
): Promise<void> {
  for (let left = 1; left > 0;) {
    const ms = await timed(async () => {
      left = await app.db.transaction(step)
    })
    if (left > 0) note(figures, `${side}/${name}`, ms)
  }
}

/** One step apart, to know how long others wait for it, and then the job as it is. */
async function runJob(app: App, part: string, side: string, figures: Figures): Promise<void> {
  let given = 0
  const ms = await timed(async () => {
    given = await app.db.transaction(tx => giveBackPages(tx, pagesAStep))
  })
  if (given > 0) note(figures, `${side}/give back ${pagesAStep} pages, ms`, ms)
  await jobs(app)
    .find(({ name }) => name.includes(part))!
    .run(new AbortController().signal)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
