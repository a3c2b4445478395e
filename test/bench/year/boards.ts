import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { externalPermissions } from '../../../src/contract/route.ts'
import { indexPendingCards } from '../../../src/domain/cards/search.ts'
import { createKey } from '../../../src/identity/keys.ts'
import { operator, seedFolder, seedProject, signIn, type SeededProject } from '../seed.ts'
import { fillYear, wholeYear, type Work } from './fill.ts'
import type { Texts } from './texts.ts'

const cards = 2000

export interface FilledBoard {
  dataDir: string
  apiKey: string
  signInToken: string
  project: SeededProject
  work: Work
  /** How many of its first cards have as much work as those of the other board. */
  asked: number
}
/** Two boards, one of which has a year of work, or a part of one. */
export interface Boards {
  old: FilledBoard
  fresh: FilledBoard
  /** Whether old work was deleted: then its cards are no longer requested. */
  pruned: boolean
}

/** The work on a board after one day, with the number of events that is kept at least, of which only a few exceed it. */
const firstDay = { events: 110_000, activities: 20_000, sessions: 50 }

/** Creates both boards in a folder, unless it already has them. */
export async function openBoards(folder: string, work: Work, texts: Texts): Promise<Boards> {
  const note = join(folder, 'year.json')
  if (existsSync(note)) return JSON.parse(readFileSync(note, 'utf8')) as Boards
  const share = work.sessions / wholeYear.sessions
  const day = { ...work, ...firstDay, events: Math.ceil(firstDay.events * Math.min(1, share * 10)) }
  const worked = Math.floor(day.sessions / Math.max(1, Math.round(work.sessions / cards)))
  const make = (side: string, done: Work, on: number) =>
    makeBoard({ dataDir: join(folder, side), path: folder, asked: worked }, done, on, texts)
  const boards: Boards = {
    fresh: await make('fresh', day, worked),
    old: await make('old', work, cards),
    pruned: false,
  }
  keepBoards(folder, boards)
  return boards
}

/** Records the content of a folder, for the next run. */
export const keepBoards = (folder: string, boards: Boards): void =>
  writeFileSync(join(folder, 'year.json'), JSON.stringify(boards))

/** Creates a board with `count` processed cards. */
async function makeBoard(
  { dataDir, path, asked }: { dataDir: string; path: string; asked: number },
  work: Work,
  worked: number,
  texts: Texts,
): Promise<FilledBoard> {
  const board = await seedFolder(dataDir, async app => {
    const project = await app.db.transaction(tx => seedProject(tx, cards, path))
    await indexPendingCards(app.db)
    // No events of today exist before the year's events, because they would prevent their pruning.
    await app.db.transaction(tx => tx.run('DELETE FROM events'))
    const { token: apiKey } = await app.db.transaction(tx =>
      createKey(tx, operator, { name: 'Bench', scope: 'server', permissions: externalPermissions }),
    )
    return { dataDir, apiKey, signInToken: await signIn(app), project, work, asked }
  })
  await fillYear(join(dataDir, 'board.db'), { ...board.project, cards: worked }, work, texts)
  return board
}
