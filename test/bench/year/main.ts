import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { digits, median, type Figures } from '../figures.ts'
import { describeMachine, presentLoad } from '../machine.ts'
import { writePart } from '../page.ts'
import { measureStarts } from '../processes.ts'
import { grouped } from '../works.ts'
import { keepBoards, openBoards, type Boards } from './boards.ts'
import { measureCopies } from './copies.ts'
import type { Work } from './fill.ts'
import { optionsOf, pagePart, type PartOfYear } from './options.ts'
import { measurePruning, measureWriting } from './pruning.ts'
import { measureRequests } from './requests.ts'
import { yearTable } from './table.ts'
import { readTexts, type Texts } from './texts.ts'

/** The bundled server, the board's program, and the command's arguments. */
export interface Year {
  folder: string
  board: string
  argv: readonly string[]
}

const startRuns = 5

/** Measures a board with a year's rows, or a part of them, in turn with a new one. */
export async function runYear({ folder, board, argv }: Year): Promise<void> {
  const options = optionsOf(argv)
  if (!options) return
  const busy = presentLoad()
  const tell = (text: string) => process.stderr.write(`${text}\n`)
  const texts = readTexts(dirname(dirname(board)))
  const kept = options.keep === undefined ? folder : resolve(options.keep)
  mkdirSync(kept, { recursive: true })
  tell(
    `boards of ${grouped(options.work.events)} events and ${grouped(options.work.sessions * options.work.pieces)} pieces`,
  )
  const boards = await openBoards(kept, options.work, texts)
  const asked: readonly PartOfYear[] = boards.pruned ? ['start', 'write', 'copy'] : options.parts
  const parts = options.parts.filter(part => asked.includes(part))
  if (parts.length < options.parts.length) tell('These boards were pruned: their cards are asked no more.')
  const title = titleOf(boards.old.work)
  console.log(title)
  const all: Figures = new Map()
  for (const part of parts) {
    const figures: Figures = new Map()
    await measure[part]({ folder, kept, board, boards, rounds: options.rounds, texts }, figures)
    const named = withNames(figures)
    console.log(report(named))
    for (const [name, values] of named) all.set(name, values)
  }
  if (options.write !== undefined)
    writePart(options.write, {
      name: pagePart,
      command: `${pagePart} -- ${argv.join(' ')}`,
      machine: await describeMachine(busy),
      ...yearTable(all),
    })
}

interface Measured {
  folder: string
  kept: string
  board: string
  boards: Boards
  rounds: number
  texts: Texts
}

const measure: Record<PartOfYear, (of: Measured, figures: Figures) => Promise<void>> = {
  start: ({ board, boards: { old, fresh } }, figures) =>
    measureStarts(
      { board, dataDir: old.dataDir, smallDataDir: fresh.dataDir, projectId: old.project.projectId },
      startRuns,
      figures,
    ),
  ask: ({ folder, boards: { old, fresh }, rounds }, figures) =>
    measureRequests(folder, { old, fresh }, rounds, figures),
  prune: async ({ kept, boards }, figures) => {
    keepBoards(kept, { ...boards, pruned: true })
    for (const side of ['fresh', 'old'] as const) await measurePruning(side, boards[side], figures)
  },
  write: ({ boards: { old }, texts }, figures) => measureWriting(old, texts, figures),
  copy: async ({ boards }, figures) => {
    for (const side of ['fresh', 'old'] as const) await measureCopies(side, boards[side], figures)
  },
}

function withNames(figures: Figures): Figures {
  const names = {
    'start/board/cpu': 'old/start, ms of processor time',
    'start/small/cpu': 'fresh/start, ms of processor time',
    'start/board': 'old/start to the first answer, ms',
    'start/small': 'fresh/start to the first answer, ms',
  }
  return new Map([...figures].map(([name, values]) => [names[name as keyof typeof names] ?? name, values]))
}

/** The measurements of both boards with the ratio of their medians, followed by those of one board only. */
const report = (figures: Figures): string =>
  [...figures]
    .flatMap(([name, values]) => {
      if (!name.startsWith('old/')) return []
      const then = figures.get(name.replace('old/', 'fresh/'))
      const now = median(values)
      return [
        then
          ? `${name.slice(4)}: ${digits(now)} and ${digits(median(then))}, ${(now / median(then)).toFixed(2)} ×`
          : `${name.slice(4)}: ${digits(now)}`,
      ]
    })
    .join('\n')

const titleOf = ({ events, activities, sessions, pieces }: Work) =>
  `A board with ${grouped(events)} events, ${grouped(activities)} activities, ${grouped(sessions)} sessions and ${grouped(sessions * pieces)} pieces, and a fresh one:`
