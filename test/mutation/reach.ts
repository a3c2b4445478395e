import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { openLane, type Sources } from './lane.ts'

/** What a test file reaches: how many mutants of a file are reached by its tests, and all that are reached, also while it loads. */
interface Reached { ms: number; within: string[]; before: string[] }
export interface Reach {
  /** The test files that reach a mutant, the most promising and cheapest first, with their time in milliseconds. */
  filesFor(id: string): Array<{ file: string; ms: number }>
  /** Test files that fail without any mutant. */
  unfit: readonly string[]
}

/** Finds which test files reach which mutants, by running them all once; the answer is kept for the next run as long as the sources stay as they are. */
export async function findReach(sources: Sources, workers: number, tell: (text: string) => void): Promise<Reach> {
  const key = createHash('sha256').update(JSON.stringify([...sources.values()].map(({ code }) => code))).digest('hex').slice(0, 16)
  const keptFile = join(tmpdir(), `board-mutation-${createHash('sha256').update(resolve('.')).digest('hex').slice(0, 8)}-${key}.json`)
  const all = existsSync(keptFile) ? JSON.parse(readFileSync(keptFile, 'utf8')) as Record<string, Reached> : await runAll(sources, workers, tell)
  writeFileSync(keptFile, JSON.stringify(all), { mode: 0o600 })
  return { filesFor: id => ranked(id, all), unfit: Object.keys(all).filter(file => all[file]!.ms === Infinity || all[file]!.ms === null) }
}

async function runAll(sources: Sources, workers: number, tell: (text: string) => void): Promise<Record<string, Reached>> {
  const folder = mkdtempSync(join(tmpdir(), 'board-mutation-'))
  const lane = await openLane(sources, { isolate: true, workers, onModule: module => tell(`${relative('.', module.moduleId)} ${module.state()} in ${Math.round(module.diagnostic().duration)} ms`) })
  try {
    tell('running all tests once, to see what they reach')
    const { modules } = await lane.run([], { BOARD_MUTANT_REACH: folder }, 3_600_000)
    const left = new Set(readdirSync(folder))
    if (left.size === 0) throw new Error('No test file says what it reaches.')
    return Object.fromEntries(modules.map(module => {
      const [name, { duration, setupDuration, collectDuration }] = [`${basename(dirname(module.moduleId))}-${basename(module.moduleId)}.json`, module.diagnostic()]
      const reached = left.has(name) ? JSON.parse(readFileSync(join(folder, name), 'utf8')) as Reached : { within: [], before: [] }
      return [relative('.', module.moduleId), { ...reached, ms: module.state() === 'passed' ? duration + setupDuration + collectDuration / 10 : Infinity }]
    }))
  } finally {
    await lane.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Those come first whose tests reach much of the same source for their time. */
function ranked(id: string, all: Record<string, Reached>): Array<{ file: string; ms: number }> {
  const source = `${id.split('#')[0]!}#`
  const noun = basename(source, '.ts#').replace(/s$/, '').toLowerCase()
  return Object.entries(all)
    .filter(([, { ms, within, before }]) => ms !== null && ms < Infinity && (within.includes(id) || before.includes(id)))
    .map(([file, { ms, within }]) => {
      const ofSource = within.filter(each => each.startsWith(source)).length
      const worth = (ofSource + 1) * (within.includes(id) ? 4 : 1) * (basename(file).toLowerCase().includes(noun) ? 8 : 1)
      return { file, ms, worth: worth / (ms + 1_000) }
    })
    .sort((a, b) => b.worth - a.worth)
}
