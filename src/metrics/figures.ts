/** A metric in `/metrics`: its name in Prometheus's terms (`board_agents`), and its description. */
export interface Described {
  name: string
  help: string
}
export interface Gauge extends Described {
  /** Reads the metric on request, by the values of a label if it has one. */
  read(): Promise<number | Record<string, number>> | number | Record<string, number>
  label?: string
  /** Whether it only increases while the server runs. */
  counts?: boolean
}

/** Upper bounds of the buckets, in seconds. */
export const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Tally {
  labels: string[]
  buckets: number[]
  count: number
  sum: number
}
export interface TimingRow extends Described {
  labels: readonly string[]
  tallies: Map<string, Tally>
}
