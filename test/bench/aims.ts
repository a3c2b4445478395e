import { agentCount } from './browser.ts'
import { longTranscript, manyCards, shortTranscript } from './browserSeed.ts'
import { median, range, spread, type Figures } from './figures.ts'
import { busyClients, calmClients } from './rounds.ts'
import { listenerCount, replayCount, replayedEvents } from './sockets.ts'
import { largest } from './sizes.ts'
import { grouped } from './works.ts'

/** A measurement, absolute or as a multiple of another one of the same run, and its maximum or minimum. */
export interface Aim {
  title: string
  of: string
  against?: string
  atMost?: number
  atLeast?: number
  unit?: string
  /** A bare server's measurement that shows the load of the machine: a missed aim does not count if this value is over half the aim. */
  beside?: string
}
export type Verdict = 'ok' | 'missed' | 'too noisy to judge'
export interface Judged extends Aim {
  value: number
  base?: number
  low: number
  high: number
  verdict: Verdict
}

export type Bound = Pick<Aim, 'atMost' | 'atLeast'>
const maxBound = (atMost: number): Bound => ({ atMost })
const minBound = (atLeast: number): Bound => ({ atLeast })
const cpu = (title: string, work: string, against: string, atMost: number): Aim => ({
  title: `${title}, CPU`,
  of: `${work}/cpu`,
  against: `${against}/cpu`,
  atMost,
  unit: 'µs',
})
const overFloor = (title: string, work: string, atMost: number, floor = 'statement') =>
  cpu(title, `${work}/board`, `${work}/${floor}`, atMost)
const p99 = (title: string, work: string, atMost: number, floor: string, clients = calmClients): Aim => {
  const which = clients === calmClients ? 'p99' : `p99 of ${clients}`
  return {
    title: `${title}, p99 of ${clients} clients`,
    of: `${work}/board/${which}`,
    beside: `${work}/${floor}/${which}`,
    atMost,
    unit: 'ms',
  }
}
const ratio = (title: string, of: string, against: string, bound: Bound, unit?: string): Aim => ({
  title,
  of,
  against,
  ...bound,
  unit,
})
const plain = (title: string, of: string, bound: Bound, unit?: string, beside?: string): Aim => ({
  title,
  of,
  ...bound,
  unit,
  beside,
})

const smooth = (title: string, work: string): Aim[] => [
  plain(
    `frames later than 20 ms while ${title}`,
    `browser/${work}/late`,
    maxBound(5),
    '%',
    `browser/${work}/bare late`,
  ),
  plain('… longest task', `browser/${work}/task`, maxBound(100), 'ms', `browser/${work}/bare gap`),
]

const big = grouped(largest)
const flat = (kind: string, atMost: number) =>
  cpu(`${kind} at ${big} against 100 cards`, `${kind} ${big}/board`, `${kind} 100/board`, atMost)

export const aims: readonly Aim[] = [
  overFloor('get a card', `get ${big}`, 2),
  p99('get a card', `get ${big}`, 3, 'statement'),
  overFloor('list 50 cards, against making objects', `list ${big}`, 0.7, 'objects'),
  p99('list 50 cards', `list ${big}`, 6, 'objects'),
  overFloor('create a card', `create ${big}`, 2.3),
  ratio(
    'create a card, requests a second',
    `create ${big}/board/rate`,
    `create ${big}/statement/rate`,
    minBound(0.6),
    '/s',
  ),
  overFloor('move to the top of 10,000', 'move 10,000', 2.7),
  p99('move to the top of 10,000', 'move 10,000', 10, 'statement', busyClients),
  cpu('move in a column of 10,000 against 100', 'move 10,000/board', 'move 100/board', 1.3),
  flat('get', 1.1),
  flat('list', 1.1),
  flat('create', 1.3),
  flat('move', 1.3),
  overFloor('get a card, sign-in token', `get ${big} signed in`, 2),
  overFloor('list 50 cards, sign-in token, against making objects', `list ${big} signed in`, 0.7, 'objects'),
  overFloor('create a card, sign-in token', `create ${big} signed in`, 2.3),
  overFloor('move to the top of 10,000, sign-in token', 'move 10,000 signed in', 2.7),
  cpu('stats against get a card', `stats ${big}/board`, `get ${big}/board`, 3),
  p99('search', `search ${big} signed in`, 30, 'raw'),
  plain('errors of 32 concurrent writers', 'writers 32/errors', maxBound(0)),
  plain('errors of 256 concurrent writers', 'writers 256/errors', maxBound(0)),
  ratio(
    `an event to ${listenerCount} sockets, deliveries a second`,
    'events/board/rate',
    'events/floor/rate',
    minBound(0.85),
    '/s',
  ),
  ratio(`an event to ${listenerCount} sockets, p99`, 'events/board/p99', 'events/floor/p99', maxBound(1.5), 'ms'),
  plain('CPU of a delivery', 'events/board/cpu', maxBound(15), 'µs', 'events/floor/cpu'),
  plain('deliveries that are missing', 'events/board/missing', maxBound(0)),
  plain(
    `${grouped(replayCount)} sockets ask for ${replayedEvents} events: first byte, p99`,
    'replay/board/firstByte',
    maxBound(50),
    'ms',
    'replay/floor/firstByte',
  ),
  plain('… memory that the server grows by', 'replay/board/memory', maxBound(150), 'MB'),
  plain('… events that are missing', 'replay/board/missing', maxBound(0)),
  plain('start to the first answer', 'start/board', maxBound(600), 'ms', 'start/raw'),
  ratio(`start at ${big} against 100 cards`, 'start/board', 'start/small', maxBound(1.2), 'ms'),
  plain('memory, idle', 'memory/idle', maxBound(140), 'MB'),
  plain('memory, under load', 'memory/load', maxBound(220), 'MB'),
  plain('agent transcript, updates a second', 'transcript/rate', minBound(20_000), '/s'),
  ratio('… in the sandbox against without', 'transcript/rate', 'transcript/off/rate', minBound(0.9), '/s'),
  plain('… health at the same time, p99', 'transcript/p99', maxBound(50), 'ms', 'transcript/idle'),
  ratio('a terminal card, in the sandbox against without', 'session/full', 'session/off', maxBound(1.25), 'ms'),
  ratio('… with a separate network', 'session/listed', 'session/off', maxBound(1.4), 'ms'),
  ratio('board --version against node -e 0', 'commands/version', 'commands/node', maxBound(1.6), 'ms'),
  ratio('board cards list against node -e 0', 'commands/cards', 'commands/node', maxBound(3.5), 'ms'),
  ratio('completion against node -e 0', 'commands/completion', 'commands/node', maxBound(3.5), 'ms'),
  plain('script for the first paint in a browser, packed', 'browser/script', maxBound(150), 'kB'),
  plain('first byte to the first paint', 'browser/paint', maxBound(300), 'ms', 'browser/bare/paint'),
  plain(
    `… until a board of ${grouped(manyCards)} cards is usable`,
    'browser/usable',
    maxBound(600),
    'ms',
    'browser/bare/paint',
  ),
  ...smooth('its column scrolls', 'scrolling'),
  ...smooth('a card is dragged', 'dragging'),
  ...smooth(`${agentCount} agents write`, 'agents'),
  plain('an event to the screen, p95', 'browser/event', maxBound(50), 'ms', 'browser/event/answer'),
  ratio(
    "the page's memory after an hour's events against half of them",
    'browser/heap/1',
    'browser/heap/0.5',
    maxBound(1.1),
    'MB',
  ),
  ratio(
    `open a transcript of ${grouped(longTranscript)} messages against ${shortTranscript}`,
    'browser/transcript/long',
    'browser/transcript/short',
    maxBound(1.2),
    'ms',
  ),
]

const rate = (title: string, work: string, atLeast: number): Aim =>
  plain(`${title}, requests a second`, `${work}/board/rate`, minBound(atLeast), '/s')

/** The aims of a board on a libSQL server on the same machine. */
export const databaseAims: readonly Aim[] = [
  rate('get a card', `get ${big}`, 4000),
  rate('list 50 cards', `list ${big}`, 4000),
  rate('create a card', `create ${big}`, 800),
  rate('move to the top of 10,000', 'move 10,000', 800),
]

const noisy = 0.25

/**
 * Judges the aims with measurements. Values of one round belong together: `low` and `high` are the first and last tenth of the rounds' ratios.
 * If the values varied by more than a quarter, an aim is judged only if the rounds agree.
 */
export const judge = (figures: Figures, all: readonly Aim[] = aims): Judged[] =>
  all.flatMap(aim => {
    const values = figures.get(aim.of)
    const base = aim.against === undefined ? undefined : figures.get(aim.against)
    if (!values || (aim.against !== undefined && !base)) return []
    const { low, high } = range(base ? values.map((value, round) => value / base[round]!) : values)
    const value = base ? median(values) / median(base) : median(values)
    const isMet = (each: number) => each <= (aim.atMost ?? Infinity) && each >= (aim.atLeast ?? -Infinity)
    const agree = isMet(low) === isMet(high)
    const besides = aim.beside === undefined ? undefined : figures.get(aim.beside)
    const varied = Math.max(spread(values), spread(base ?? besides ?? []))
    const isSlowMachine = !isMet(value) && besides !== undefined && median(besides) > aim.atMost! / 2
    const isNoisy = (!agree && varied > noisy) || isSlowMachine
    return [
      {
        ...aim,
        value,
        ...(base && { base: median(base) }),
        low,
        high,
        verdict: isNoisy ? 'too noisy to judge' : isMet(value) ? 'ok' : 'missed',
      },
    ]
  })
