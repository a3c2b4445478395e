import { readFileSync } from 'node:fs'
import type { Judged } from './aims.ts'
import { digits, median, range, spread, times, whole, type Figures } from './figures.ts'
import { busyClients, calmClients } from './rounds.ts'
import { writerCounts } from './writers.ts'
import type { Work } from './works.ts'

/** The file that `--json` writes and `--compare` reads. */
export interface Report {
  at: string
  node: string
  machine: string
  figures: Record<string, { median: number; low: number; high: number; rounds: number }>
  aims: Judged[]
}

export const reportOf = (figures: Figures, aims: Judged[], machine: string): Report => ({
  at: new Date().toISOString(),
  node: process.version,
  machine,
  figures: Object.fromEntries(
    [...figures].map(([name, values]) => [name, { median: median(values), ...range(values), rounds: values.length }]),
  ),
  aims,
})

/** Every measured aim: the board's value, its floor's, and their ratio. */
export const aimsText = (figures: Figures, aims: readonly Judged[]): string =>
  aims.length === 0 ? '' : table(aimRows(figures, aims))

/** The table of a run on a page: every aim of these parts of the bench, and the rates of their works. */
export function tableOf(
  figures: Figures,
  aims: readonly Judged[],
  isOwn: (figure: string) => boolean,
): { heads: string[]; rows: string[][] } {
  const [head, ...rows] = aimRows(
    figures,
    aims.filter(({ of }) => isOwn(of)),
  ) as [string[], ...string[][]]
  const own = new Map([...figures].filter(([name]) => isOwn(name)))
  return { heads: ['measurement', ...head.slice(1, -1), 'verdict'], rows: [...rows, ...rateRows(own)] }
}

/** Rates without an aim, but of most interest: requests per second, next to the bare server with the same statement. */
const rateRows = (figures: Figures): string[][] =>
  [...figures].flatMap(([name, rates]) => {
    const [work, side, what] = name.split('/')
    const bare = figures.get(`${work}/statement/rate`)
    if (side !== 'board' || what !== 'rate' || !bare) return []
    const [own, floor] = [median(rates), median(bare)]
    return [
      [`${work} by ${busyClients} clients`, `${whole(own)} /s`, `${whole(floor)} /s`, times(own / floor), '', '', ''],
    ]
  })

const aimRows = (figures: Figures, aims: readonly Judged[]): string[][] => [
  ['', 'board', 'bare server', 'ratio', 'range', 'target', ''],
  ...aims.map(({ title, of, beside, base, value, low, high, atMost, atLeast, unit = '', verdict }) => {
    const show = base === undefined ? (each: number) => `${digits(each)} ${unit}`.trim() : times
    const floor = base ?? (beside === undefined || !figures.has(beside) ? undefined : median(figures.get(beside)!))
    return [
      title,
      `${digits(median(figures.get(of)!))} ${unit}`.trim(),
      floor === undefined ? '' : `${digits(floor)} ${unit}`.trim(),
      base === undefined ? '' : times(value),
      figures.get(of)!.length === 1 ? '' : `${show(low)}–${show(high)}`,
      atMost === undefined ? `≥ ${show(atLeast!)}` : `≤ ${show(atMost)}`,
      verdict,
    ]
  }),
]

/** The details: every work on every side, and the measurements without an aim. */
export function detailsText(figures: Figures, works: readonly Work[]): string {
  const measured = works.flatMap(work =>
    work.floors.filter(floor => floor !== 'raw' || work.floors.length === 1).map(floor => ({ ...work, floor })),
  )
  const rows = measured
    .filter(({ name }) => figures.has(`${name}/board/cpu`))
    .map(({ title, name, floor }) => {
      const at = (side: string, what: string) => median(figures.get(`${name}/${side}/${what}`)!)
      const [ofBoard, ofFloor] = [figures.get(`${name}/board/cpu`)!, figures.get(`${name}/${floor}/cpu`)!]
      return [
        floor === 'objects' ? `${title}, of objects` : title,
        whole(at('raw', 'cpu')),
        whole(median(ofFloor)),
        whole(median(ofBoard)),
        times(median(ofBoard) / median(ofFloor)),
        `±${percent(spread(ofFloor))}`,
        `±${percent(spread(ofBoard))}`,
        whole(at('raw', 'rate')),
        whole(at(floor, 'rate')),
        whole(at('board', 'rate')),
        millis(at(floor, 'p50')),
        millis(at(floor, 'p99')),
        millis(at('board', 'p50')),
        millis(at('board', 'p99')),
        millis(at('board', `p99 of ${busyClients}`)),
      ]
    })
  const heads = [
    '',
    'µs raw',
    'µs bare',
    'µs board',
    'ratio',
    'bare',
    'board',
    '/s raw',
    '/s bare',
    '/s board',
    'p50 bare',
    'p99',
    'p50 board',
    'p99',
    `p99 of ${busyClients}`,
  ]
  const servers =
    rows.length === 0
      ? ''
      : `CPU µs a request and requests a second by ${busyClients} clients, latency in ms of ${calmClients}. raw: node:http with the same bytes; bare: node:http with the same statement and durability\n${table([heads, ...rows])}`
  return `${servers}\n${othersText(figures)}`
}

function othersText(figures: Figures): string {
  const lines: Array<[title: string, name: string, unit: string]> = [
    ['raw node:http server to its first answer, CPU', 'start/raw/cpu', 'ms'],
    ['board serve to its first answer, CPU', 'start/board/cpu', 'ms'],
    ['board serve with 100 cards, CPU', 'start/small/cpu', 'ms'],
    ...writerCounts.map((clients): [string, string, string] => [`${clients} writers`, `writers ${clients}/rate`, '/s']),
    ['all sockets received their missed events after', 'replay/board/secs', 's'],
    ['… half of them the first byte after', 'replay/board/firstByteOfMost', 'ms'],
    ['… CPU of a replayed event', 'replay/board/cpu', 'µs'],
  ]
  const rows = lines.flatMap(([title, name, unit]) =>
    figures.has(name)
      ? [[title, `${digits(median(figures.get(name)!))} ${unit}`, `±${percent(spread(figures.get(name)!))}`]]
      : [],
  )
  return rows.length === 0 ? '' : table([['', 'board', 'rounds'], ...rows])
}

/** This run next to an earlier one. @throws Error if the file is not a report */
export function comparison(figures: Figures, file: string): string {
  const before = JSON.parse(readFileSync(file, 'utf8')) as Report
  const rows = [...figures]
    .filter(([name]) => before.figures[name] && !/p50$|p99|errors$|missing$|\/raw\//.test(name))
    .map(([name, values]) => {
      const then = before.figures[name]!.median
      return [name, digits(then), digits(median(values)), times(median(values) / then)]
    })
  return `Compared with ${before.at} (${before.node}, ${before.machine})\n${table([['', 'then', 'now', 'now ÷ then'], ...rows])}`
}

/** Both boards' measurements, and their ratio: the median of the rounds' ratios, and their tenths. */
export function againstText(figures: Figures, commit: string): string {
  const rows = [...figures].flatMap(([name, values]) => {
    const then = figures.get(`then ${name.slice('now '.length)}`)
    if (!name.startsWith('now ') || !then) return []
    const ratios = values.map((value, round) => value / then[round]!)
    const { low, high } = range(ratios)
    return [
      [
        name.slice('now '.length),
        digits(median(then)),
        digits(median(values)),
        times(median(ratios)),
        `${times(low)}–${times(high)}`,
      ],
    ]
  })
  return `This tree next to ${commit}, alternating: cpu in µs per request, rate in requests per second, the others in ms.\n${table([['', 'then', 'now', 'now ÷ then', 'of rounds'], ...rows])}`
}

export function table(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return `${rows
    .map(row =>
      row
        .map((cell, column) =>
          column > 0 && /^([±≤≥\d]|$)/.test(cell) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`
}

const millis = (value: number) => value.toFixed(2)
const percent = (part: number) => `${Math.round(part * 100)} %`
