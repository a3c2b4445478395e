import { describeMachine, presentLoad } from '../bench/machine.ts'
import { writePart } from '../bench/page.ts'
import buildProgram from '../support/run/build.ts'
import { createRandom } from '../support/run/random.ts'
import { openLane, readSources, type Lane, type Sources } from './lane.ts'
import type { Mutant } from './mutants.ts'
import { folders, program, readOptions, sourcesIn, usage, type Options } from './options.ts'
import { findReach, type Reach, type TestFile } from './reach.ts'
import { describe, summary, tableOf, type Tried } from './report.ts'

const startMs = 20_000
const tell = (text: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}

/** Tries a sample of mutants, and prints the results. */
export async function runMutation(argv: readonly string[]): Promise<void> {
  const options = optionsOf(argv)
  if (!options) return
  // Measured first: this process later uses the tests' folder for temporary files, which is deleted with them.
  const machine = options.write === undefined ? '' : await describeMachine(presentLoad())
  const sources = readSources(folders.flatMap(sourcesIn))
  const chosen = choose(sources, options)
  tell(
    `${chosen.length} of ${[...sources].reduce((sum, [file, { mutants }]) => sum + (options.files.includes(file) ? mutants.length : 0), 0)} mutants in ${options.files.length} files, seed ${options.seed}`,
  )
  // Some tests access their board through the program.
  buildProgram()
  const reach = options.tests.length > 0 ? given(options.tests) : await findReach(sources, options.workers, tell)
  if (reach.unfit.length > 0) tell(`These fail without a mutant and are omitted: ${reach.unfit.join(', ')}`)
  const tried: Tried[] = []
  const left = [...chosen]
  const endAt = performance.now() + options.minutes * 60_000
  const next = () => (performance.now() < endAt ? left.shift() : undefined)
  await Promise.all(
    Array.from({ length: options.workers }, async () => {
      const lane = await openLane(sources, {
        isolate: false,
        ...(options.tests.length > 0 && { include: [...options.tests] }),
      })
      for (let mutant = next(); mutant; mutant = next()) {
        const result = await tryOne(lane, mutant, reach, options)
        tried.push(result)
        tell(`${tried.length} of ${chosen.length}: ${describe(result)}`)
      }
      await lane.close()
    }),
  )
  console.log(summary(tried, options))
  if (options.write !== undefined)
    writePart(options.write, {
      name: program,
      command: `${program} -- ${argv.join(' ')}`,
      machine,
      ...tableOf(tried),
    })
}

function optionsOf(argv: readonly string[]): Options | undefined {
  try {
    const options = readOptions(argv)
    if (options !== 'help') return options
    console.log(usage)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exitCode = 2
  }
  return undefined
}

const assumedMs = 20_000
const given = (tests: readonly string[]): Reach => ({
  filesFor: () => tests.map(file => ({ file, ms: assumedMs })),
  noteKiller: () => {},
  unfit: [],
})

/** The selected share of each file's mutants, in random order, so that a partial run is representative. */
function choose(sources: Sources, { files, sample, seed, only }: Options): Mutant[] {
  const mutants = files.flatMap(file => sources.get(file)!.mutants)
  if (only.length > 0) return mutants.filter(({ id }) => only.includes(id))
  const random = createRandom(seed)
  const shuffled = <T>(all: readonly T[]): T[] =>
    all
      .map(each => ({ each, order: random() }))
      .sort((a, b) => a.order - b.order)
      .map(({ each }) => each)
  return shuffled(
    files.flatMap(file => {
      const own = shuffled(sources.get(file)!.mutants)
      return own.slice(0, Math.floor((own.length * sample) / 100 + random()))
    }),
  )
}

async function tryOne(lane: Lane, mutant: Mutant, reach: Reach, { maxSecs }: Options): Promise<Tried> {
  const reaching = reach.filesFor(mutant.id)
  const files = affordable(reaching, maxSecs * 1000)
  if (files.length === 0) return { mutant, result: 'not reached', ms: 0, files: 0, reaching: 0 }
  const startedAt = performance.now()
  const { by, timedOut } = await findKiller(lane, mutant, files)
  const killer = files.find(({ file }) => by?.startsWith(file))
  if (killer) reach.noteKiller(mutant.id, killer.file)
  return {
    mutant,
    result: timedOut ? 'timed out' : by ? 'killed' : 'survived',
    by,
    ms: performance.now() - startedAt,
    files: files.length,
    reaching: reaching.length,
  }
}

/** The test that notices a mutant, if any. A test that fails after others in the same process must also fail alone, because the others might have left state. */
async function findKiller(
  lane: Lane,
  { id }: Mutant,
  files: readonly TestFile[],
): Promise<{ by?: string; timedOut: boolean }> {
  const run = (some: readonly TestFile[]) =>
    lane.run(
      some.map(({ file }) => file),
      { BOARD_MUTANT: id },
      startMs * 3 + some.reduce((sum, { ms }) => sum + ms, 0) * 3,
    )
  for (let left = files; left.length > 0;) {
    const { failure: by, timedOut } = await run(left)
    const at = left.findIndex(({ file }) => by?.startsWith(file))
    if (timedOut || at <= 0) return { by, timedOut }
    const alone = await run([left[at]!])
    if (alone.failure !== undefined || alone.timedOut) return { by, timedOut: alone.timedOut }
    left = left.slice(at + 1)
  }
  return { timedOut: false }
}

/** The first mutants, and later ones while there is time. */
function affordable(files: readonly TestFile[], maxMs: number): TestFile[] {
  let leftMs = maxMs
  return files.filter(({ ms }, at) => {
    if (at > 0 && ms > leftMs) return false
    leftMs -= ms
    return true
  })
}
