import type { Registry } from 'prom-client'
import { bounds, type Described, type Gauge, type TimingRow } from './figures.ts'

/** Times of something, in seconds, counted into buckets. */
interface Timing {
  observe(secs: number, ...labels: string[]): void
}

/**
 * The server's own metrics. Counting is always on and almost free; the writer is loaded at the first request for them.
 */
export interface Metrics {
  gauge(gauge: Gauge): void
  timing(described: Described, labels?: readonly string[]): Timing
  /** Everything in Prometheus's text format, and its content type. */
  text(): Promise<{ contentType: string; text: string }>
}

export function createMetrics(): Metrics {
  const gauges: Gauge[] = []
  const timings: TimingRow[] = []
  let writer: Promise<Registry> | undefined
  return {
    gauge: gauge => {
      gauges.push(gauge)
    },
    timing: (described, labels = []) => {
      const row: TimingRow = { ...described, labels, tallies: new Map() }
      timings.push(row)
      return {
        observe: (secs, ...values) => {
          tally(row, secs, values)
        },
      }
    },
    text: async () => {
      const registry = await (writer ??= import('./writer.ts').then(({ createWriter }) =>
        createWriter(timings, gauges),
      ))
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

function tally({ tallies }: TimingRow, secs: number, labels: string[]): void {
  const key = labels.join('\n')
  let entry = tallies.get(key)
  if (!entry) tallies.set(key, (entry = { labels, buckets: bounds.map(() => 0), count: 0, sum: 0 }))
  const at = bounds.findIndex(bound => secs <= bound)
  if (at >= 0) entry.buckets[at]!++
  entry.count++
  entry.sum += secs
}
