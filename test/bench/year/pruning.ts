import { statSync } from 'node:fs'
import { join } from 'node:path'
import { jobs } from '../../../daemon/process/periodicJobs.ts'
import type { App } from '../../../src/app.ts'
import { note, type Figures } from '../figures.ts'
import { seedFolder } from '../seed.ts'
import type { FilledBoard } from './boards.ts'
import { fillYear, partOf } from './fill.ts'
import type { Texts } from './texts.ts'

const megabyte = 1024 ** 2
/** How many of the cards are deleted, so that what they said is purged. */
const deletedShare = 0.5
/** Somebody else writes so often, and is to wait for no longer than a person notices. */
const othersEveryMs = 20
const [writtenRounds, writtenShare] = [4, 0.02]

/** The jobs that delete, and what the file gives back afterwards, while somebody else writes. */
export async function measurePruning(side: string, { dataDir, project }: FilledBoard, figures: Figures): Promise<void> {
  const path = join(dataDir, 'board.db')
  await seedFolder(dataDir, async app => {
    note(figures, `${side}/file, MB`, statSync(path).size / megabyte)
    await runJob(app, 'delete events', `${side}/prune events`, figures)
    const end = project.firstCardId + project.cards * deletedShare
    await trash(app, project.firstCardId, end)
    await runJob(app, 'remove cards', `${side}/purge cards`, figures)
    await runJob(app, 'give back', `${side}/give back`, figures)
    note(figures, `${side}/log of writes, MB`, statSync(`${path}-wal`).size / megabyte)
  })
  note(figures, `${side}/file after pruning, MB`, statSync(path).size / megabyte)
}

const trash = (app: App, from: number, end: number) =>
  app.db.transaction(tx =>
    tx.run(`UPDATE cards SET deleted_at = '2020-01-01T00:00:00.000Z' WHERE id >= ? AND id < ?`, [from, end]),
  )

/** Notes how long a job takes, and how long those who write meanwhile wait: most, and the last of a hundred. */
async function runJob(app: App, part: string, name: string, figures: Figures): Promise<void> {
  const others = writeMeanwhile(app)
  const startedAt = performance.now()
  await jobs(app)
    .find(job => job.name.includes(part))!
    .run(new AbortController().signal)
  note(figures, `${name}, s`, (performance.now() - startedAt) / 1000)
  const waited = (await others.stop()).sort((a, b) => a - b)
  note(figures, `${name}, others wait for p50 ms`, waited[Math.floor(waited.length / 2)]!)
  note(figures, `${name}, others wait for p99 ms`, waited[Math.floor(waited.length * 0.99)]!)
}

/** Somebody who writes all the time. */
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

/** Weeks of work that are deleted when the next come: what is written takes the place of what is gone. */
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
      for (const part of ['delete events', 'remove cards', 'give back'])
        await jobs(app)
          .find(job => job.name.includes(part))!
          .run(new AbortController().signal)
    })
    note(
      figures,
      `old/file after ${round} times ${Math.round(writtenShare * 100)} % more were written and deleted, MB`,
      statSync(path).size / megabyte,
    )
  }
}
