import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import type { Judged } from './aims.ts'
import { median, range, spread, type Figures } from './figures.ts'
import { writerCounts } from './writers.ts'
import type { Work } from './works.ts'

/** What `--json` writes and `--compare` reads. */
export interface Report { at: string; node: string; machine: string; figures: Record<string, { median: number; low: number; high: number; rounds: number }>; aims: Judged[] }

export const reportOf = (figures: Figures, aims: Judged[]): Report => ({
  at: new Date().toISOString(), node: process.version, machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
  figures: Object.fromEntries([...figures].map(([name, values]) => [name, { median: median(values), ...range(values), rounds: values.length }])), aims,
})

/** The run as text: what servers cost, what whole processes take, the aims. */
export const textOf = (figures: Figures, works: readonly Work[], aims: readonly Judged[]): string =>
  [serversText(figures, works), processesText(figures), aimsText(aims)].filter(Boolean).join('\n')

function serversText(figures: Figures, works: readonly Work[]): string {
  const measured = works.flatMap(work => work.floors.includes('objects') ? [{ ...work, floor: 'statement' }, { ...work, floor: 'objects', title: '  against rows made into objects' }] : [{ ...work, floor: 'statement' }])
  const rows = measured.filter(({ name }) => figures.has(`${name}/board/cpu`)).map(({ title, name, floor }) => {
    const at = (side: string, what: string) => median(figures.get(`${name}/${side}/${what}`)!)
    const [ofBoard, ofFloor] = [figures.get(`${name}/board/cpu`)!, figures.get(`${name}/${floor}/cpu`)!]
    return [
      title, whole(at('raw', 'cpu')), whole(median(ofFloor)), whole(median(ofBoard)), times(median(ofBoard) / median(ofFloor)), `±${percent(spread(ofFloor))}`, `±${percent(spread(ofBoard))}`,
      whole(at('raw', 'rate')), whole(at(floor, 'rate')), whole(at('board', 'rate')), millis(at(floor, 'p50')), millis(at(floor, 'p99')), millis(at('board', 'p50')), millis(at('board', 'p99')),
    ]
  })
  if (rows.length === 0) return ''
  const heads = ['', 'µs raw', 'µs bare', 'µs board', 'ratio', 'bare', 'board', '/s raw', '/s bare', '/s board', 'p50 bare', 'p99', 'p50 board', 'p99']
  return `CPU µs a request and requests a second by 32 clients, latency in ms of one client. raw: node:http with the same bytes; bare: node:http with the same statement and durability\n${table([heads, ...rows])}`
}

function processesText(figures: Figures): string {
  const line = (title: string, name: string, unit: string, base?: string) => {
    const values = figures.get(name)
    return values ? [[title, `${whole(median(values))} ${unit}`, base ? times(median(values) / median(figures.get(base)!)) : '', `±${percent(spread(values))}`]] : []
  }
  const rows = [
    ...line('node -e 0', 'commands/node', 'ms'), ...line('board --version', 'commands/version', 'ms', 'commands/node'), ...line('board cards list', 'commands/cards', 'ms', 'commands/node'), ...line('completion', 'commands/completion', 'ms', 'commands/node'),
    ...line('raw node:http server to its first answer', 'start/raw', 'ms'), ...line('board serve to its first answer', 'start/board', 'ms', 'start/raw'), ...line('board serve, idle memory', 'memory/idle', 'MB'),
    ...writerCounts.flatMap(clients => [...line(`${clients} writers`, `writers ${clients}/rate`, '/s'), ...line(`${clients} writers, errors`, `writers ${clients}/errors`, '')]),
  ]
  return rows.length === 0 ? '' : table(rows)
}

const aimsText = (aims: readonly Judged[]) => aims.length === 0 ? '' : table(aims.map(({ title, value, low, high, atMost, unit, against, verdict }) => {
  const show = against === undefined ? (each: number) => `${whole(each)} ${unit ?? ''}`.trim() : times
  return [verdict, title, show(value), against === undefined ? '' : `${times(low)} to ${times(high)}`, `aim at most ${show(atMost)}`]
}))

/** This run beside an earlier one. @throws Error when the file is no report */
export function comparison(figures: Figures, file: string): string {
  const before = JSON.parse(readFileSync(file, 'utf8')) as Report
  const rows = [...figures].filter(([name]) => before.figures[name] && !/p50$|p99$|errors$|\/raw\//.test(name)).map(([name, values]) => {
    const then = before.figures[name]!.median
    return [name, digits(then), digits(median(values)), times(median(values) / then)]
  })
  return `Compared with ${before.at} (${before.node}, ${before.machine})\n${table([['', 'then', 'now', 'now ÷ then'], ...rows])}`
}

function table(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return `${rows.map(row => row.map((cell, column) => column === 0 || !/^[±\d]/.test(cell) && rows[0]![0] !== '' ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)).join('  ').trimEnd()).join('\n')}\n`
}

const whole = (value: number) => Math.round(value).toLocaleString('en-US')
const times = (value: number) => `${value.toFixed(2)} ×`
const millis = (value: number) => value.toFixed(2)
const percent = (part: number) => `${Math.round(part * 100)} %`
const digits = (value: number) => value < 100 ? value.toPrecision(3) : whole(value)
