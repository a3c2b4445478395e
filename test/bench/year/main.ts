import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median, type Figures } from '../figures.ts'
import { grouped } from '../works.ts'
import { measureOffline } from './offline.ts'
import { measureRequests } from './requests.ts'
import { makeBoard } from './boards.ts'
import { partOf, wholeYear, type Work } from './fill.ts'
import { yearTable } from './table.ts'
import { describeMachine, presentLoad } from '../machine.ts'
import { requireParts, writePart } from '../page.ts'
import { measureStarts } from '../processes.ts'

/** Where the bundled server is, the board's program, and what was typed. */
export interface Year {
  folder: string
  board: string
  argv: readonly string[]
}

const name = 'npm run year'
const usage = 'Usage: npm run year -- [--share 0.02] [--rounds 7] [--write FILE]'
/** What a board has done after a day, with as many events as one keeps at least, of which few are too many. */
const firstDay: Work = { events: 110_000, activities: 20_000, sessions: 50, pieces: wholeYear.pieces }
const startRuns = 5

/** Measures a board with a year's rows, or a part of them, in turn with a fresh one. */
export async function runYear({ folder, board, argv }: Year): Promise<void> {
  const options = optionsOf(argv)
  if (!options) return
  const busy = presentLoad()
  const tell = (text: string) => process.stderr.write(`${text}\n`)
  const work = partOf(wholeYear, options.share)
  tell(`filling: ${grouped(work.events)} events, ${grouped(work.sessions * work.pieces)} pieces`)
  const fresh = await makeBoard(join(folder, 'fresh'), folder, {
    ...firstDay,
    events: Math.ceil(firstDay.events * Math.min(1, options.share * 10)),
  })
  const old = await makeBoard(join(folder, 'old'), folder, work)
  const figures: Figures = new Map()
  const sides = { old, fresh }
  tell('starting')
  const { dataDir, project } = old
  await measureStarts({ board, dataDir, smallDataDir: fresh.dataDir, projectId: project.projectId }, startRuns, figures)
  tell('asking')
  await measureRequests(folder, sides, options.rounds, figures)
  for (const [side, each] of Object.entries(sides)) {
    tell(`pruning and copying: ${side}`)
    await measureOffline(side, each, figures)
  }
  const renamed = withNames(figures)
  console.log(report(renamed, work))
  if (options.write !== undefined)
    writePart(options.write, {
      name,
      command: `${name} -- ${argv.join(' ')}`,
      machine: await describeMachine(busy),
      ...yearTable(renamed),
    })
}

function optionsOf(argv: readonly string[]): { share: number; rounds: number; write?: string } | undefined {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        share: { type: 'string', default: '0.02' },
        rounds: { type: 'string', default: '7' },
        write: { type: 'string' },
      },
    })
    const [share, rounds] = [Number(values.share), Number(values.rounds)]
    if (!(share > 0 && share <= 1)) throw new TypeError('--share takes a part of the year, above 0 and at most 1.')
    if (!(Number.isSafeInteger(rounds) && rounds > 0)) throw new TypeError('--rounds takes a whole number from 1.')
    if (values.write !== undefined) requireParts(values.write, [name])
    return { share, rounds, write: values.write }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exitCode = 2
    return undefined
  }
}

function withNames(figures: Figures): Figures {
  const names = {
    'start/board/cpu': 'old/start, ms of processor time',
    'start/small/cpu': 'fresh/start, ms of processor time',
  }
  return new Map([...figures].map(([each, values]) => [names[each as keyof typeof names] ?? each, values]))
}

/** What is measured of both boards, with the ratio of the medians, and then what is known of one only. */
function report(figures: Figures, work: Work): string {
  const lines = [...figures].flatMap(([name, values]) => {
    if (!name.startsWith('old/')) return []
    const then = figures.get(name.replace('old/', 'fresh/'))
    const now = median(values)
    return [
      then
        ? `${name.slice(4)}: ${digits(now)} and ${digits(median(then))}, ${(now / median(then)).toFixed(2)} ×`
        : `${name.slice(4)}: ${digits(now)}`,
    ]
  })
  return [
    `A board with ${grouped(work.events)} events, ${grouped(work.activities)} activities, ${grouped(work.sessions)} sessions and ${grouped(work.sessions * work.pieces)} pieces, and a fresh one:`,
    ...lines,
  ].join('\n')
}

const digits = (value: number) => (value >= 100 ? grouped(Math.round(value)) : String(Number(value.toPrecision(3))))
