/** Returns a duration as a stopwatch shows it: `0:42`, `12:05`, `1:02:07`. A negative duration counts as 0. */
export function stopwatchText(ms: number): string {
  const secs = Math.max(0, Math.floor(ms / 1000))
  const minutes = Math.floor(secs / 60)
  const parts = minutes < 60 ? [minutes] : [Math.floor(minutes / 60), minutes % 60]
  return [...parts, secs % 60].map((part, at) => (at === 0 ? part : String(part).padStart(2, '0'))).join(':')
}
