import { median, range, spread, type Figures } from './figures.ts'
import { largest, grouped } from './works.ts'

/** A figure, as a multiple of another one of the same run or by itself, and what it may be at most. */
export interface Aim { title: string; of: string; against?: string; atMost: number; unit?: string }
export type Verdict = 'ok' | 'falls short' | 'too noisy to judge'
export interface Judged extends Aim { value: number; low: number; high: number; verdict: Verdict }

const cpu = (title: string, work: string, against: string, atMost: number): Aim => ({ title: `${title}, CPU`, of: `${work}/cpu`, against: `${against}/cpu`, atMost })
const floorOf = (title: string, work: string, atMost: number) => cpu(`${title} ÷ its bare server`, `${work}/board`, `${work}/statement`, atMost)
const big = grouped(largest)

export const aims: readonly Aim[] = [
  floorOf('get a card', 'get', 2.5),
  floorOf('create a card', 'create', 3),
  floorOf(`list 50 of ${big}`, `list ${big}`, 1.2),
  cpu(`list 50 of ${big} ÷ a bare server that makes objects`, `list ${big}/board`, `list ${big}/objects`, 0.7),
  cpu(`list 50 of ${big} ÷ of 100`, `list ${big}/board`, 'list 100/board', 1.2),
  cpu('move to the top of 10,000 ÷ of 100', 'move 10,000/board', 'move 100/board', 1.5),
  { title: 'errors of 32 concurrent writers', of: 'writers 32/errors', atMost: 0 },
  { title: 'board --version ÷ node -e 0', of: 'commands/version', against: 'commands/node', atMost: 1.5 },
  { title: 'board cards list ÷ node -e 0', of: 'commands/cards', against: 'commands/node', atMost: 1.9 },
  { title: 'completion of cards ÷ node -e 0', of: 'commands/completion', against: 'commands/node', atMost: 2.2 },
  { title: 'idle memory', of: 'memory/idle', atMost: 110, unit: 'MB' },
  { title: 'start to first answer ÷ raw node:http server', of: 'start/board', against: 'start/raw', atMost: 4 },
]

const noisy = 0.25

/**
 * Judges the aims whose figures were measured. Figures of one round belong together: `low` and `high` are the tenths of the rounds' ratios.
 * When the figures varied by more than a quarter, an aim is judged only if the rounds agree.
 */
export const judge = (figures: Figures, all: readonly Aim[] = aims): Judged[] => all.flatMap(aim => {
  const values = figures.get(aim.of)
  const base = aim.against === undefined ? undefined : figures.get(aim.against)
  if (!values || (aim.against !== undefined && !base)) return []
  const ratios = base ? values.map((value, round) => value / base[round]!) : values
  const value = base ? median(values) / median(base) : median(values)
  const { low, high } = range(ratios)
  const agree = high <= aim.atMost || low > aim.atMost
  const isNoisy = base !== undefined && !agree && Math.max(spread(base), spread(values)) > noisy
  return [{ ...aim, value, low, high, verdict: isNoisy ? 'too noisy to judge' : value <= aim.atMost ? 'ok' : 'falls short' }]
})
