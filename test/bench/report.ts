import { readFileSync, writeFileSync } from 'node:fs'
import type { Judged } from './aims.ts'
import { median, range, spread, type Figures } from './figures.ts'
import { busyClients, calmClients } from './rounds.ts'
import { writerCounts } from './writers.ts'
import type { Work } from './works.ts'

/** What `--json` writes and `--compare` reads. */
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

/** Every aim that was measured: the board's figure, its floor's, and what the one is of the other. */
export const aimsText = (figures: Figures, aims: readonly Judged[]): string =>
  aims.length === 0 ? '' : table(aimRows(figures, aims))

/** Between these lines a Markdown file has what a run of the bench measured. */
const [begin, end] = ['<!-- begin: npm run bench -->', '<!-- end: npm run bench -->']

/** Where a Markdown file has the figures of a run. @throws TypeError when it has no such place, or cannot be read */
export function placeOfFigures(file: string): { text: string; from: number; to: number } {
  const text = readFileSync(file, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new TypeError(`${file} has no lines ${begin} and ${end}.`)
  return { text, from, to }
}

/** Replaces what an earlier run wrote into a Markdown file: the machine with its own speed, when and how it was measured, every aim. */
export function writeFigures(
  file: string,
  figures: Figures,
  aims: readonly Judged[],
  { machine, argv }: { machine: string; argv: readonly string[] },
): void {
  const { text, from, to } = placeOfFigures(file)
  const [head, ...rows] = aimRows(figures, aims) as [string[], ...string[][]]
  const line = (cells: readonly string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  const block = [
    `\`npm run bench -- ${argv.join(' ')}\`, ${new Date().toISOString().slice(0, 10)}. ${machine}`,
    '',
    ...[['what', ...head.slice(1, -1), 'verdict'], head.map(() => '---'), ...rows, ...rateRows(figures)].map(line),
  ]
  writeFileSync(file, `${text.slice(0, from)}${begin}\n\n${block.join('\n')}\n\n${text.slice(to)}`)
}

/** What has no aim and is asked for first: how many requests a second, beside the bare server with the same statement. */
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
  ['', 'board', 'floor', 'ratio', 'of rounds', 'aim', ''],
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

/** What lies behind the table: every work on every side, and what has no aim. */
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
    ['all who asked for what they missed had it after', 'replay/secs', 's'],
    ['… half of them the first byte after', 'replay/firstByteOfMost', 'ms'],
    ['… CPU of a replayed event', 'replay/cpu', 'µs'],
  ]
  const rows = lines.flatMap(([title, name, unit]) =>
    figures.has(name)
      ? [[title, `${digits(median(figures.get(name)!))} ${unit}`, `±${percent(spread(figures.get(name)!))}`]]
      : [],
  )
  return rows.length === 0 ? '' : table([['', 'board', 'rounds'], ...rows])
}

/** This run beside an earlier one. @throws Error when the file is no report */
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

/** Both boards' figures, and what this tree's are of the commit's: the median of the rounds' ratios, and their tenths. */
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
  return `This tree beside ${commit}, in turn: cpu in µs a request, rate in requests a second, the others in ms.\n${table([['', 'then', 'now', 'now ÷ then', 'of rounds'], ...rows])}`
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

const whole = (value: number) => Math.round(value).toLocaleString('en-US')
const times = (value: number) => `${value.toFixed(2)} ×`
const millis = (value: number) => value.toFixed(2)
const percent = (part: number) => `${Math.round(part * 100)} %`
export const digits = (value: number) =>
  value === 0 ? '0' : value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : whole(value)
