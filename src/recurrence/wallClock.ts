/** More than the difference between the clocks of any two zones, and than any change of one zone's clock. */
const dayMs = 86_400_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** The time on a zone's clock at a moment, as if it were UTC. */
export function wallTimeOf(atMs: number, timeZone: string): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of formatOf(timeZone).formatToParts(atMs)) parts[type] = Number(value)
  const { year, month, day, hour, minute, second } = parts as Record<string, number>
  return Date.UTC(year!, month! - 1, day, hour, minute, second) + (((atMs % 1000) + 1000) % 1000)
}

/**
 * Returns the moment of a time on a zone's clock. If the time occurs twice, returns the first moment. If the time is skipped, returns the
 * moment of the change. A later time never has an earlier moment.
 */
export function momentOf(wallMs: number, timeZone: string): number {
  const offsetAt = (atMs: number) => wallTimeOf(atMs, timeZone) - atMs
  const [before, after] = [offsetAt(wallMs - dayMs), offsetAt(wallMs + dayMs)]
  const moments = [wallMs - before, wallMs - after].sort((a, b) => a - b)
  const shown = moments.find(atMs => wallTimeOf(atMs, timeZone) === wallMs)
  if (shown !== undefined) return shown
  // The clock skips the time between the two moments. Finds the first moment after the skip.
  let [low, high] = moments as [number, number]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (wallTimeOf(middle, timeZone) < wallMs) low = middle
    else high = middle
  }
  return high
}

/** The day of a zone's calendar at a moment: `2026-11-23`. */
export const dayOf = (at: string, timeZone: string): string =>
  new Date(wallTimeOf(Date.parse(at), timeZone)).toISOString().slice(0, 10)

/** The zone of this machine's clock. */
export const localTimeZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

/** Creating a format takes a hundred times as long as using it. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  formats.set(timeZone, format)
  return format
}
