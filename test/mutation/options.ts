import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { requireParts } from '../bench/page.ts'

export interface Options {
  files: readonly string[]
  sample: number
  seed: number
  workers: number
  maxSecs: number
  minutes: number
  only: readonly string[]
  tests: readonly string[]
  /** A page with a part for this program. */
  write?: string
}

/** The name of this program on a page of measurements. */
export const program = 'npm run mutation'

export const folders = ['src/domain', 'src/identity', 'src/store']
export const usage = `Usage: npm run mutation -- [--sample PERCENT] [--seed NUMBER] [--workers NUMBER] [--most-secs NUMBER] [--minutes NUMBER] [--only ID,...] [--tests FILE,...] [--write FILE] [FILE or FOLDER ...]

Makes small mistakes in the sources, one at a time, and tells which of them no test notices.
All of ${folders.join(', ')} without a file or folder.

  --sample PERCENT     How many of each file's mutants are tried, chosen at random. Default 10; 100 takes a day.
  --seed NUMBER        Chooses the same ones again.
  --workers NUMBER     How many are tried at a time. Default 1.
  --most-secs NUMBER   How long the test files that are run for a mutant take together without it, the likeliest first. Default 240.
  --minutes NUMBER     Ends after that time. What has been tried by then is a sample as well, only smaller.
  --only ID,...        Only these mutants, by the ids that a run prints.
  --tests FILE,...     Only these test files, whatever they reach: whether a new test notices a survivor.
  --write FILE         Writes the table into its part of a page of figures.

The first run takes minutes longer than the next ones: it runs all tests once to see what they reach.`

/** @throws TypeError for an unknown flag, a number out of range, a missing file, or a page without the part */
export function readOptions(argv: readonly string[]): Options | 'help' {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      sample: { type: 'string', default: '10' },
      seed: { type: 'string' },
      workers: { type: 'string', default: '1' },
      'most-secs': { type: 'string', default: '240' },
      minutes: { type: 'string', default: '10000' },
      only: { type: 'string' },
      tests: { type: 'string' },
      write: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  const [only, tests] = [values.only, values.tests].map(names => names?.split(',').filter(Boolean) ?? []) as [
    string[],
    string[],
  ]
  const missing = tests.find(file => !statSync(file, { throwIfNoEntry: false })?.isFile())
  if (missing !== undefined) throw new TypeError(`${missing} is not there.`)
  if (values.write !== undefined) requireParts(values.write, [program])
  const places = positionals.length > 0 ? positionals : folders
  return {
    files: places.flatMap(sourcesIn),
    sample: number('sample', values.sample, 100),
    seed: values.seed === undefined ? Math.floor(Math.random() * 1e6) : number('seed', values.seed, 1e9),
    workers: number('workers', values.workers, 64),
    maxSecs: number('most-secs', values['most-secs'], 100_000),
    minutes: number('minutes', values.minutes, 10_000),
    only,
    tests,
    write: values.write,
  }
}

function number(name: string, text: string, max: number): number {
  const value = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || value > max) throw new TypeError(`--${name} must be a number of at most ${max}.`)
  return value
}

/** All sources, because a mutant's number and reach are recorded for all of them. */
export function sourcesIn(place: string): string[] {
  const path = place.replace(/\/$/, '')
  if (!folders.some(folder => path === folder || path.startsWith(`${folder}/`)))
    throw new TypeError(`${place} is not in ${folders.join(', ')}.`)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) throw new TypeError(`${place} is not there.`)
  return stats.isFile()
    ? [path]
    : readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter(name => name.endsWith('.ts'))
        .map(name => join(path, name))
        .sort()
}
