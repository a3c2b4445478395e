/** A time in messages to people: `2026-01-31 12:00 UTC`. */
export const shownTime = (time: string): string => `${time.slice(0, 16).replace('T', ' ')} UTC`

/** A duration in messages to people. */
export const shownLength = (ms: number): string =>
  ms < 90_000 ? `${Math.round(ms / 1000)} seconds` : `${Math.round(ms / 60_000)} minutes`
