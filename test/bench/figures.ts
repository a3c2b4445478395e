/** Measured values, one per round, by name: `get/board/cpu`. */
export type Figures = Map<string, number[]>

export function note(figures: Figures, name: string, value: number): void {
  const values = figures.get(name)
  if (values) values.push(value)
  else figures.set(name, [value])
}

/** The value below which the share `part` (0 to 1) of all values is. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * part
  const below = sorted[Math.floor(at)]!
  return below + (sorted[Math.ceil(at)]! - below) * (at % 1)
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** The values without the lowest and the highest tenth. */
export const range = (values: readonly number[]): { low: number; high: number } => ({
  low: quantile(values, 0.1),
  high: quantile(values, 0.9),
})

/** The spread of the values, as a fraction of their median. */
export function spread(values: readonly number[]): number {
  const { low, high } = range(values)
  return (high - low) / (median(values) || 1)
}

/** Formats measurements for readers. */
export const whole = (value: number): string => Math.round(value).toLocaleString('en-US')
export const times = (value: number): string => `${value.toFixed(2)} ×`
export const digits = (value: number): string =>
  value === 0 ? '0' : value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : whole(value)
