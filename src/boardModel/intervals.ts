const units = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
] as const

/** A duration as a user would type it: `90m`, `1d`, `61s`. */
export function shownInterval(secs: number): string {
  const [unit, length] = units.find(([, each]) => secs % each === 0) ?? ['s', 1]
  return `${secs / length}${unit}`
}
