import { statSync } from 'node:fs'
import { join } from 'node:path'
import { periodicJobs } from '../../../daemon/process/periodicJobs.ts'
import type { App } from '../../../src/app.ts'
import { note, type Figures } from '../figures.ts'
import { seedFolder } from '../seed.ts'
import type { FilledBoard } from './boards.ts'
import { fillYear, partOf } from './fill.ts'
import type { Texts } from './texts.ts'

const megabyte = 1024 ** 2
/** The share of cards that are deleted, so that their transcripts are purged. */
const deletedShare = 0.5
/** The interval of a concurrent writer, who must not wait for longer than a user notices. */
const othersEveryMs = 20
const [writtenRounds, writtenShare] = [4, 0.02]

/** Measures the jobs that delete, and the release of file space after them, with a concurrent writer. */
export async function measurePruning(side: string, { dataDir, project }: FilledBoard, figures: Figures): Promise<void> {
  const path = join(dataDir, 'board.db')
  await seedFolder(dataDir, async app => {
    note(figures, `${side}/file, MB`, statSync(path).size / megabyte)
    await runJob(app, 'delete old events', `${side}/prune events`, figures)
    const end = project.firstCardId + project.cards * deletedShare
    await trash(app, project.firstCardId, end)
    await runJob(app, 'purge cards', `${side}/purge cards`, figures)
    await runJob(app, 'return freed pages', `${side}/return freed pages`, figures)
    note(figures, `${side}/log of writes, MB`, statSync(`${path}-wal`).size / megabyte)
  })
  note(figures, `${side}/file after pruning, MB`, statSync(path).size / megabyte)
}

const trash = (app: App, from: number, end: number) =>
  app.db.transaction(tx =>
    tx.run(`UPDATE cards SET deleted_at = '2020-01-01T00:00:00.000Z' WHERE id >= ? AND id < ?`, [from, end]),
  )

/** Records the duration of a job, and how long concurrent writers wait: the maximum and the 99th percentile. */
async function runJob(app: App, part: string, name: string, figures: Figures): Promise<void> {
  const others = writeMeanwhile(app)
  const startedAt = performance.now()
  await periodicJobs(app)
    .find(job => job.name.includes(part))!
    .run(new AbortController().signal)
  note(figures, `${name}, s`, (performance.now() - startedAt) / 1000)
  const waited = (await others.stop()).sort((a, b) => a - b)
  note(figures, `${name}, wait of other writers, p50 ms`, waited[Math.floor(waited.length / 2)]!)
  note(figures, `${name}, wait of other writers, p99 ms`, waited[Math.floor(waited.length * 0.99)]!)
}

/** A writer that writes all the time. */
function writeMeanwhile(app: App): { stop(): Promise<number[]> } {
  const waited: number[] = []
  const stopped = new AbortController()
  const write = async () => {
    const startedAt = performance.now()
    await app.db.transaction(tx => tx.run('UPDATE projects SET updated_at = updated_at'))
    waited.push(performance.now() - startedAt)
  }
  const writing = (async () => {
    while (!stopped.signal.aborted) {
      await write()
      await new Promise(resolve => setTimeout(resolve, othersEveryMs))
    }
  })()
  return {
    stop: async () => {
      stopped.abort()
      await writing
      return waited
    },
  }
}

/** Measures weeks of work that are deleted when the next weeks come: new rows replace deleted ones. */
export async function measureWriting(
  { dataDir, project, work }: FilledBoard,
  texts: Texts,
  figures: Figures,
): Promise<void> {
  const path = join(dataDir, 'board.db')
  const week = partOf(work, writtenShare)
  for (let round = 1; round <= writtenRounds; round++) {
    const [first, cards] = [project.firstCardId + project.cards / 2, 100]
    await fillYear(path, { ...project, firstCardId: first + (round - 1) * cards, cards }, week, texts)
    await seedFolder(dataDir, async app => {
      await trash(app, first + (round - 1) * cards, first + round * cards)
      for (const part of ['delete old events', 'purge cards', 'return freed pages'])
        await periodicJobs(app)
          .find(job => job.name.includes(part))!
          .run(new AbortController().signal)
    })
    note(
      figures,
      `old/file after writing and deleting ${Math.round(writtenShare * 100)}%, round ${round}, MB`,
      statSync(path).size / megabyte,
    )
  }
}
