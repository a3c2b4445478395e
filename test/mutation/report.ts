import type { Mutant } from './mutants.ts'
import { folders, type Options } from './options.ts'

const results = ['killed', 'timed out', 'survived', 'not reached'] as const
/** The result of a mutant. `by` names the test that noticed it, `reaching` is how many test files reach it, `files` how many of them were to be run. */
export interface Tried {
  mutant: Mutant
  result: (typeof results)[number]
  by?: string
  ms: number
  files: number
  reaching: number
}

/** A mutant and its result in one line. */
export const describe = ({ mutant: { id, line, was, is }, result, by, ms, files, reaching }: Tried): string =>
  `${result} ${id} line ${line} in ${Math.round(ms / 1000)} s, ${files} of ${reaching} files: ${oneLine(was)} -> ${oneLine(is)}${by ? `  [${oneLine(by)}]` : ''}`

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 110 ? `${line.slice(0, 107)}...` : line
}

/** The survivors, and a table of the folders. A mutant that makes the tests hang counts as noticed. */
export function summary(tried: readonly Tried[], { sample, seed }: Options): string {
  const unnoticed = tried
    .filter(({ result }) => result === 'survived' || result === 'not reached')
    .sort((a, b) => a.mutant.id.localeCompare(b.mutant.id, 'en', { numeric: true }))
  return [
    ...unnoticed.map(describe),
    '',
    `Sample of ${sample} %, seed ${seed}`,
    ['', ...heads].map(cell).join(''),
    ...rowsOf(tried).map(row => row.map(cell).join('')),
  ].join('\n')
}

/** The table of a run on a page. */
export const tableOf = (tried: readonly Tried[]): { heads: string[]; rows: string[][] } => ({
  heads: ['mistakes in', ...heads],
  rows: rowsOf(tried),
})

const heads = ['tried', ...results, 'noticed']
/** The folders, and their total. */
const rowsOf = (tried: readonly Tried[]): string[][] =>
  [...folders, ''].map(folder =>
    row(
      folder || 'together',
      tried.filter(({ mutant }) => mutant.file.startsWith(folder)),
    ),
  )

function row(name: string, tried: readonly Tried[]): string[] {
  const counts = results.map(result => tried.filter(each => each.result === result).length)
  const noticed = tried.length > 0 ? `${(((counts[0]! + counts[1]!) / tried.length) * 100).toFixed(1)} %` : '-'
  return [name, ...[tried.length, ...counts].map(String), noticed]
}

const cell = (text: string, at: number): string => (at === 0 ? text.padEnd(14) : text.padStart(13))
