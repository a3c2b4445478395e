const maxNamed = 5

/** Names files in a sentence: at most five, and how many more there are. */
export const namePaths = (paths: readonly string[]): string =>
  paths.slice(0, maxNamed).join(', ') + (paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : '')
