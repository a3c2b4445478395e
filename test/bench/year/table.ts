import { digits, median, times, type Figures } from '../figures.ts'

/** What must not take longer for all that a board has done: all but what reads the whole of it. */
const atMost = 1.5
const isBound = (name: string) => /, (p50 )?(ms|µs)( of processor time)?$/.test(name)

/** What a page of figures has of a run: each `old/…` figure beside the fresh board's. */
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
        ...(isBound(what) ? [`≤ ${times(atMost)}`, ratio <= atMost ? 'ok' : 'falls short'] : ['', '']),
      ],
    ]
  })
  return { heads: ['what', 'a year', 'fresh', 'ratio', 'aim', 'verdict'], rows }
}
