import type { Registry } from 'prom-client'

/** Where a figure stands in `/metrics`: its name in Prometheus's terms (`board_agents`), and what it says. */
interface Described { name: string; help: string }
export interface Gauge extends Described {
  /** Reads the figure when somebody asks for it, by the values of a label where it has one. */
  read(): Promise<number | Record<string, number>> | number | Record<string, number>
  label?: string
  /** It only grows while the server runs. */
  counts?: boolean
}

/** Times of something, in seconds, counted into buckets. */
export interface Timing { observe(secs: number, ...labels: string[]): void }

/** What the server tells about itself. What counts runs all the time and costs next to nothing; what writes it is loaded when it is first asked for. */
export interface Metrics {
  gauge(gauge: Gauge): void
  timing(described: Described, labels?: readonly string[]): Timing
  /** Everything in Prometheus's text format, and its content type. */
  text(): Promise<{ contentType: string; text: string }>
}

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Tally { labels: string[]; buckets: number[]; count: number; sum: number }
interface TimingRow extends Described { labels: readonly string[]; tallies: Map<string, Tally> }

export function createMetrics(): Metrics {
  const gauges: Gauge[] = []
  const timings: TimingRow[] = []
  let writer: Promise<Registry> | undefined
  return {
    gauge: gauge => { gauges.push(gauge) },
    timing: (described, labels = []) => {
      const row: TimingRow = { ...described, labels, tallies: new Map() }
      timings.push(row)
      return { observe: (secs, ...values) => { tally(row, secs, values) } }
    },
    text: async () => {
      const registry = await (writer ??= createWriter(timings, gauges))
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** Everything is wired before the first request, so that the writer knows it all. */
async function createWriter(timings: readonly TimingRow[], gauges: readonly Gauge[]): Promise<Registry> {
  const { Registry, collectDefaultMetrics } = await import('prom-client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const row of timings) registry.registerMetric(foreign({ ...row, type: 'histogram', get: async () => valuesOfTiming(row) }))
  for (const gauge of gauges) registry.registerMetric(foreign({ ...gauge, type: gauge.counts ? 'counter' : 'gauge', get: () => valuesOfGauge(gauge) }))
  return registry
}

function tally({ tallies }: TimingRow, secs: number, labels: string[]): void {
  const key = labels.join('\n')
  let entry = tallies.get(key)
  if (!entry) tallies.set(key, entry = { labels, buckets: bounds.map(() => 0), count: 0, sum: 0 })
  const at = bounds.findIndex(bound => secs <= bound)
  if (at >= 0) entry.buckets[at]!++
  entry.count++
  entry.sum += secs
}

type Values = Array<{ value: number; labels: Record<string, string | number>; metricName?: string }>

function valuesOfTiming({ name, labels, tallies }: TimingRow): Values {
  return [...tallies.values()].flatMap(entry => {
    const own = Object.fromEntries(labels.map((label, at) => [label, entry.labels[at]!]))
    let below = 0
    const buckets = bounds.map((le, at) => ({ value: below += entry.buckets[at]!, labels: { ...own, le }, metricName: `${name}_bucket` }))
    return [
      ...buckets, { value: entry.count, labels: { ...own, le: '+Inf' }, metricName: `${name}_bucket` },
      { value: entry.sum, labels: own, metricName: `${name}_sum` }, { value: entry.count, labels: own, metricName: `${name}_count` },
    ]
  })
}

/** A figure that cannot be read now is left out: the others are worth having. */
async function valuesOfGauge({ read, label = 'kind' }: Gauge): Promise<Values> {
  try {
    const figures = await read()
    if (typeof figures === 'number') return [{ value: figures, labels: {} }]
    return Object.entries(figures).map(([kind, value]) => ({ value, labels: { [label]: kind } }))
  } catch {
    return []
  }
}

/** The writer takes any object that knows its values; its types name its own classes only. */
function foreign({ name, help, type, get }: Described & { type: string; get: () => Promise<Values> }): Parameters<Registry['registerMetric']>[0] {
  return { name, get: async () => ({ name, help, type, values: await get(), aggregator: 'sum' }), reset() { /* Nothing is kept here. */ } } as unknown as Parameters<Registry['registerMetric']>[0]
}
