import { parseArgs } from 'node:util'

export interface Options {
  /** Only the parts with one of these prefixes. Empty: all. */
  only: readonly string[]
  json?: string
  /** A Markdown file in which the measurements of this run replace those of an earlier one. */
  write?: string
  compare?: string
  /** A commit whose server is measured in turn with this tree's. */
  against?: string
  /**
   * How long the agent of the first word takes to answer, in addition to the start of its process (70 ms). From start to first answer,
   * Claude Code takes 0.26 s, Codex 0.4 s, and Gemini and Qwen 1.6 s or more.
   */
  agentStartMs: number
  /** The folder for CPU profiles of the servers. Profiling costs time: measurements with profiles cannot be compared. */
  profile?: string
  /** A libSQL server that holds the board's database during the run. Its content is replaced. The floors keep their file. */
  database?: string
  /** Whether to print the details: CPU time and requests per second of every work on every side. */
  details: boolean
  quick: boolean
  rounds: number
  againstRounds: number
  againstLoadMs: number
  /** The duration of the load on each server per round, by 32 clients and by eight. */
  loadMs: number
  calmMs: number
  warmUpMs: number
  writersMs: number
  processRuns: number
  startRuns: number
  eventsARound: number
  floodUpdates: number
  floodRuns: number
  sessionRuns: number
  /** How many ms frames are counted per round, and agents write in that time. */
  framesMs: number
  streamMs: number
  hourOfEvents: number
}

/** The parts, grouped in the tables of a page. */
const tables = [
  ['get', 'list', 'stats', 'search', 'move', 'create', 'writers'],
  ['events', 'replay'],
  ['transcript', 'session'],
  ['start', 'commands'],
  ['browser'],
]
/** The rows of the table of a board on a libSQL server. */
const databaseTable = ['get', 'list', 'move', 'create']
export const parts = tables.flat()
export const usage = `Usage: npm run bench -- [--quick] [--details] [--only ${parts.join(',')}] [--json FILE] [--write FILE] [--compare FILE] [--against COMMIT] [--agent-start MS] [--profile FOLDER] [--database ws://HOST:PORT]`

const floodUpdates = 100_000
const thorough = {
  rounds: 5,
  againstRounds: 15,
  againstLoadMs: 400,
  loadMs: 900,
  calmMs: 500,
  warmUpMs: 800,
  writersMs: 4000,
  processRuns: 21,
  startRuns: 9,
  eventsARound: 60,
  floodUpdates,
  floodRuns: 3,
  sessionRuns: 15,
  framesMs: 3000,
  streamMs: 60_000,
  hourOfEvents: 36_000,
}
const quick = {
  rounds: 3,
  againstRounds: 5,
  againstLoadMs: 200,
  loadMs: 250,
  calmMs: 150,
  warmUpMs: 300,
  writersMs: 1200,
  processRuns: 9,
  startRuns: 3,
  eventsARound: 20,
  floodUpdates,
  floodRuns: 1,
  sessionRuns: 7,
  framesMs: 2000,
  streamMs: 30_000,
  hourOfEvents: 18_000,
}

/** @throws TypeError for an unknown flag or part */
export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: 'boolean', default: false },
      details: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string' },
      write: { type: 'string' },
      compare: { type: 'string' },
      against: { type: 'string' },
      'agent-start': { type: 'string', default: '0' },
      profile: { type: 'string' },
      database: { type: 'string' },
    },
  })
  const only = values.only?.split(',').filter(Boolean) ?? []
  const unknown = only.find(part => !parts.some(each => part.startsWith(each)))
  if (unknown !== undefined) throw new TypeError(`--only knows no part ${unknown}.`)
  if (values.database !== undefined && (only.length === 0 || only.some(part => part.startsWith('start'))))
    throw new TypeError(
      'With --database, name the parts with --only. The part start is not available: it requires a file.',
    )
  if (values.against !== undefined) requireComparable(values)
  if (values.write !== undefined) requireWholeTables({ ...values, only })
  const agentStartMs = Number(values['agent-start'])
  if (!Number.isInteger(agentStartMs) || agentStartMs < 0)
    throw new TypeError('--agent-start must be a number of milliseconds.')
  return { ...values, only, agentStartMs, ...(values.quick ? quick : thorough) }
}

/** The parts of a page that `--write` replaces: the name of each table's part, and its parts of the bench. */
export const tablesOf = ({
  only,
  database,
}: Pick<Options, 'only' | 'database'>): Array<{ name: string; of: string[] }> =>
  database === undefined
    ? tables
        .filter(table => only.length === 0 || table.some(part => only.includes(part)))
        .map(of => ({ name: `npm run bench -- --only ${of.join(',')}`, of }))
    : [{ name: 'npm run bench -- --database', of: databaseTable }]

function requireWholeTables(options: Pick<Options, 'only' | 'database' | 'profile'>): void {
  if (options.profile !== undefined) throw new TypeError('--write goes without --profile, which costs time.')
  const { only } = options
  const whole = tablesOf(options).flatMap(({ of }) => of)
  if (only.length > 0 && (only.some(part => !whole.includes(part)) || whole.some(part => !only.includes(part))))
    throw new TypeError(
      `--write replaces whole tables. Say --only with all that is in one: ${(options.database === undefined ? tables : [databaseTable]).map(each => each.join(',')).join(' or ')}.`,
    )
}

function requireComparable({
  database,
  compare,
  json,
  write,
}: Partial<Pick<Options, 'database' | 'compare' | 'json' | 'write'>>): void {
  if (database ?? compare ?? json ?? write)
    throw new TypeError(
      '--against measures both boards on their files, and goes without --database, --compare, --json and --write.',
    )
}

/** Whether a part, or one work of it (`list 100`, `move 10000`), is measured. */
export const isWanted = ({ only }: Pick<Options, 'only'>, name: string): boolean => {
  const plain = name.replaceAll(',', '')
  return (
    only.length === 0 ||
    only.some(part => plain.startsWith(part) && !/\d\d/.test(plain.slice(part.length - 1, part.length + 1)))
  )
}
