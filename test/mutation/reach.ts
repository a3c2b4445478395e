import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import type { TestModule } from 'vitest/node'
import { openLane, type Sources } from './lane.ts'

export interface TestFile {
  file: string
  ms: number
}
/** The mutants that a test file reaches in its tests (`within`), and otherwise (`before`): while it loads and prepares. `ms` is null for one that fails. */
interface Reached {
  file: string
  version: string
  ms: number | null
  within: string[]
  before: string[]
}
export interface Reach {
  /** The test files that reach a mutant, the most promising and cheapest first, with their time in milliseconds. */
  filesFor(id: string): TestFile[]
  /** Moves a test file that noticed a mutant before others, for the mutants of the same source. */
  noteKiller(id: string, file: string): void
  /** Test files that fail without any mutant. */
  unfit: readonly string[]
}

/** Finds which test files reach which mutants, by running each once. The result is cached for the next run, while the sources and the test file are unchanged. */
export async function findReach(sources: Sources, workers: number, tell: (text: string) => void): Promise<Reach> {
  const folder = join(
    tmpdir(),
    `board-mutation-${hash(resolve('.'), ...[...sources.values()].map(({ code }) => code))}`,
  )
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const keep = (module: TestModule) => {
    const file = relative('.', module.moduleId)
    const { duration } = module.diagnostic()
    const passed = module.state() === 'passed'
    tell(`${file} ${module.state()} in ${Math.round(duration)} ms`)
    const reached = JSON.parse(readFileSync(join(folder, nameOf(file, 'reached')), 'utf8')) as Pick<
      Reached,
      'within' | 'before'
    >
    writeFileSync(
      join(folder, nameOf(file, 'json')),
      JSON.stringify({ file, version: hash(readFileSync(file, 'utf8')), ms: passed ? duration : null, ...reached }),
    )
    rmSync(join(folder, nameOf(file, 'reached')))
  }
  const lane = await openLane(sources, { isolate: true, workers, onModule: keep })
  // A test file that fails might have had too little of a busy machine.
  for (const how of ['to record their reach', 'again after a failure']) {
    const unknown = lane.files.filter(file => !isKnown(read(folder, file)))
    if (unknown.length === 0) break
    tell(`running ${unknown.length} of ${lane.files.length} test files once, ${how}`)
    await lane.run(unknown, { BOARD_MUTANT_REACH: folder }, 3_600_000)
  }
  await lane.close()
  const all = lane.files.flatMap(file => read(folder, file) ?? [])
  const killers: string[] = []
  return {
    filesFor: id => ranked(id, all, killers),
    noteKiller: (id, file) => {
      killers.push(killOf(id, file))
    },
    unfit: all.filter(({ ms }) => ms === null).map(({ file }) => file),
  }
}

const hash = (...texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)
const isKnown = (reached: Reached | undefined): boolean =>
  reached !== undefined && reached.ms !== null && reached.version === hash(readFileSync(reached.file, 'utf8'))
const nameOf = (file: string, ending: string): string => `${file.replaceAll('/', '-')}.${ending}`

function read(folder: string, file: string): Reached | undefined {
  const path = join(folder, nameOf(file, 'json'))
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Reached) : undefined
}

const sourceOf = (id: string): string => `${id.split('#')[0]!}#`
const killOf = (id: string, file: string): string => sourceOf(id) + file

/** The first files are those whose tests reach much of the same source for their time, are named after it, or have noticed others of its mutants. */
function ranked(id: string, all: readonly Reached[], killers: readonly string[]): TestFile[] {
  const source = sourceOf(id)
  const words = basename(source, '.ts#')
    .split(/(?=[A-Z])|-/)
    .map(word => word.replace(/s$/, '').toLowerCase())
  return all
    .flatMap(({ file, ms, within, before }) => {
      const isWithin = within.includes(id)
      if (ms === null || !(isWithin || before.includes(id))) return []
      const ofSource = within.filter(each => each.startsWith(source)).length
      const kills = killers.filter(kill => kill === killOf(id, file)).length
      const worth =
        ((ofSource + 1) *
          (isWithin ? 4 : 1) *
          4 ** words.filter(word => file.toLowerCase().includes(word)).length *
          (1 + kills)) /
        (ms + 1_000)
      return [{ file, ms, worth }]
    })
    .sort((a, b) => b.worth - a.worth)
}
