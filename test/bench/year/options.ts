import { parseArgs } from 'node:util'
import { requireParts } from '../page.ts'
import { partOf, wholeYear, type Work } from './fill.ts'

/** The parts of the measurement, in their order. */
export const parts = ['start', 'ask', 'prune', 'write', 'copy'] as const
export type PartOfYear = (typeof parts)[number]

export interface Options {
  work: Work
  rounds: number
  parts: readonly PartOfYear[]
  /** The folder in which the boards are created and kept. */
  keep: string | undefined
  /** A page on which the measurements of this run replace those of an earlier one. */
  write: string | undefined
}
/** The name of this program's part on a page of measurements. */
export const pagePart = 'npm run year'

const usage = `Usage: npm run year -- [--share 0.02] [--rounds 7] [--longest 20000] [--keep FOLDER] [--only ${parts.join(',')} | --only fill] [--write FILE]
  --share    the part of a year: 1 is 40 GB
  --longest  the longest output of a tool, in characters: less makes a smaller file
  --keep     make the boards in this folder, or use those that it has, and leave them there
  --only     measure these parts; "fill" makes the boards and measures nothing
  --write    also write the figures of all parts to this page`

/** The parsed arguments. Sets the exit code and returns undefined if they are invalid. */
export function optionsOf(argv: readonly string[]): Options | undefined {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        share: { type: 'string', default: '0.02' },
        rounds: { type: 'string', default: '7' },
        longest: { type: 'string', default: String(wholeYear.maxLength) },
        keep: { type: 'string' },
        only: { type: 'string' },
        write: { type: 'string' },
      },
    })
    const share = number(
      '--share',
      values.share,
      value => value > 0 && value <= 1,
      'a part of the year, above 0 and at most 1',
    )
    const rounds = number(
      '--rounds',
      values.rounds,
      value => Number.isSafeInteger(value) && value > 0,
      'a whole number from 1',
    )
    const longest = number(
      '--longest',
      values.longest,
      value => value >= 100 && value <= 200_000,
      'characters, 100 to 200000',
    )
    const { keep, write } = values
    if (write !== undefined && values.only !== undefined) throw new TypeError('--write takes all parts, and no --only.')
    if (write !== undefined) requireParts(write, [pagePart])
    return {
      work: partOf({ ...wholeYear, maxLength: longest }, share),
      rounds,
      parts: partsOf(values.only),
      keep,
      write,
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exitCode = 2
    return undefined
  }
}

function number(name: string, text: string, isGood: (value: number) => boolean, what: string): number {
  const value = Number(text)
  if (!isGood(value)) throw new TypeError(`${name} takes ${what}.`)
  return value
}

function partsOf(only: string | undefined): readonly PartOfYear[] {
  if (only === 'fill') return []
  const named = only?.split(',') ?? parts
  const unknown = named.find(name => !parts.includes(name as PartOfYear))
  if (unknown !== undefined) throw new TypeError(`--only takes ${parts.join(', ')} or fill, and not "${unknown}".`)
  return parts.filter(part => named.includes(part))
}
