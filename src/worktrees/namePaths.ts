import { shownName } from '../contract/cards/fileNames.ts'

const maxNamed = 5
const maxDetails = 50

/** Lists at most five files in a sentence, and the number of further files. */
export const namePaths = (paths: readonly string[]): string =>
  paths.slice(0, maxNamed).map(shownName).join(', ') +
  (paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : '')

/** The details of an error about files: at most fifty. */
export const pathDetails = (paths: readonly string[], message: string): Array<{ path: string; message: string }> =>
  paths.slice(0, maxDetails).map(path => ({ path: shownName(path), message }))
