import { collectDefaultMetrics, Registry } from 'prom-client'
import { bounds, type Described, type Gauge, type TimingRow } from './figures.ts'

/** All metrics are registered before the first request, so that the writer has the complete list. */
export function createWriter(timings: readonly TimingRow[], gauges: readonly Gauge[]): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const row of timings)
    registry.registerMetric(foreign({ ...row, type: 'histogram', get: async () => valuesOfTiming(row) }))
  for (const gauge of gauges)
    registry.registerMetric(
      foreign({ ...gauge, type: gauge.counts ? 'counter' : 'gauge', get: () => valuesOfGauge(gauge) }),
    )
  return registry
}

type Values = Array<{ value: number; labels: Record<string, string | number>; metricName?: string }>

function valuesOfTiming({ name, labels, tallies }: TimingRow): Values {
  return [...tallies.values()].flatMap(entry => {
    const own = Object.fromEntries(labels.map((label, at) => [label, entry.labels[at]!]))
    let below = 0
    const buckets = bounds.map((le, at) => ({
      value: (below += entry.buckets[at]!),
      labels: { ...own, le },
      metricName: `${name}_bucket`,
    }))
    return [
      ...buckets,
      { value: entry.count, labels: { ...own, le: '+Inf' }, metricName: `${name}_bucket` },
      { value: entry.sum, labels: own, metricName: `${name}_sum` },
      { value: entry.count, labels: own, metricName: `${name}_count` },
    ]
  })
}

/** A metric that cannot be read now is omitted, so that the others are available. */
async function valuesOfGauge({ read, label = 'kind' }: Gauge): Promise<Values> {
  try {
    const figures = await read()
    if (typeof figures === 'number') return [{ value: figures, labels: {} }]
    return Object.entries(figures).map(([kind, value]) => ({ value, labels: { [label]: kind } }))
  } catch {
    return []
  }
}

/** The writer accepts any object with values, but its types name only its own classes. */
function foreign({
  name,
  help,
  type,
  get,
}: Described & { type: string; get: () => Promise<Values> }): Parameters<Registry['registerMetric']>[0] {
  return {
    name,
    get: async () => ({ name, help, type, values: await get(), aggregator: 'sum' }),
    reset() {
      /* There is no stored value to reset. */
    },
  } as unknown as Parameters<Registry['registerMetric']>[0]
}
