import { digits, median, times, type Figures } from '../figures.ts'

/** The maximum ratio of operations that must not slow down with a board's age: all except those that read everything. */
const atMost = 1.5
const isBound = (name: string) => /, (p50 )?(ms|µs)( of processor time)?$/.test(name)

/** The table of a run on a page: each `old/…` value next to that of the new board. */
export function yearTable(figures: Figures): { heads: string[]; rows: string[][] } {
  const rows = [...figures].flatMap(([name, values]) => {
    if (!name.startsWith('old/')) return []
    const [what, fresh] = [name.slice('old/'.length), figures.get(name.replace('old/', 'fresh/'))]
    if (!fresh) return [[what, digits(median(values)), '', '', '', '']]
    const ratio = median(values) / median(fresh)
    return [
      [
        what,
        digits(median(values)),
        digits(median(fresh)),
        times(ratio),
        ...(isBound(what) ? [`≤ ${times(atMost)}`, ratio <= atMost ? 'ok' : 'missed'] : ['', '']),
      ],
    ]
  })
  return { heads: ['measurement', 'after a year', 'new board', 'ratio', 'target', 'verdict'], rows }
}
