import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startChild, type Child } from './child.ts'
import { note, type Figures } from './figures.ts'
import type { Bench, Tell } from './main.ts'
import { isWanted, type Options } from './options.ts'
import { againstText } from './report.ts'
import { busyClients, load, measureOnce } from './rounds.ts'
import { seedBoard, type Seeded } from './seed.ts'
import { makeProject, makeRepository, requestAs, runTerminalCard } from './sessions.ts'
import { sizesOf, worksOf, type Work } from './works.ts'

const comparedKinds = new Set<Work['kind']>(['get', 'list', 'create', 'move'])

/** A commit's server, with a board of its own that its own sources seeded. */
interface Side {
  name: 'now' | 'then'
  folder: string
  board: Child
  seeded: Seeded
  works: Work[]
}

/**
 * Measures this tree's server and a commit's in turn, round after round, so that what troubles the machine troubles both, and prints what
 * the one is of the other. Neither side has floors: they are each other's.
 */
export async function runAgainst(bench: Bench, options: Options, figures: Figures, tell: Tell): Promise<void> {
  const commit = options.against!
  tell(`building ${commit}`)
  const built = await bench.buildCommit(commit)
  const { seedBoard: seedThen } = (await import(pathToFileURL(join(built, 'seed.mjs')).href)) as {
    seedBoard: typeof seedBoard
  }
  tell('seeding')
  const sides = [
    await openSide('now', bench.folder, seedBoard, options),
    await openSide('then', built, seedThen, options),
  ]
  try {
    await measureRequests(sides, options, figures, tell)
    if (isWanted(options, 'session')) await measureStartsOfSessions(sides, options, figures, tell)
  } finally {
    await Promise.all(sides.map(({ board }) => board.stop()))
  }
  console.log(`\n${againstText(figures, commit)}`)
}

async function openSide(name: Side['name'], folder: string, seed: typeof seedBoard, options: Options): Promise<Side> {
  const seeded = await seed(
    folder,
    sizesOf(work => isWanted(options, work)),
  )
  const works = worksOf(seeded).filter(work => comparedKinds.has(work.kind) && isWanted(options, work.name))
  const profile = options.profile && join(options.profile, name)
  const board = await startChild(join(folder, 'server.mjs'), { dataDir: seeded.dataDir }, profile)
  return { name, folder, board, seeded, works }
}

/** The other one begins in every second round. */
const inTurn = <T>(sides: readonly T[], round: number) => (round % 2 === 0 ? sides : sides.toReversed())

async function measureRequests(sides: readonly Side[], options: Options, figures: Figures, tell: Tell): Promise<void> {
  const durations = { loadMs: options.againstLoadMs, calmMs: options.againstLoadMs / 2 }
  const count = sides[0]!.works.length
  for (let round = 0; round <= options.againstRounds && count > 0; round++) {
    tell(round === 0 ? 'warming up' : `round ${round} of ${options.againstRounds}`)
    for (let at = 0; at < count; at++)
      for (const side of inTurn(sides, round)) {
        const work = side.works[at]!
        if (round === 0) await load(side, side.board, work, busyClients, options.warmUpMs)
        else await measureOnce(side, side.board, work, `${side.name} ${work.name}`, durations, figures)
      }
  }
}

async function measureStartsOfSessions(
  sides: readonly Side[],
  { sessionRuns }: Options,
  figures: Figures,
  tell: Tell,
): Promise<void> {
  tell('session')
  const prepared = await Promise.all(
    sides.map(async side => {
      const path = join(side.folder, 'repository')
      makeRepository(path)
      const askBoard = requestAs(side)
      return { side, askBoard, project: await makeProject(askBoard, 'Sessions', path) }
    }),
  )
  for (let round = 0; round <= sessionRuns; round++)
    for (const { side, askBoard, project } of inTurn(prepared, round)) {
      const cpu = await side.board.cpuMicros()
      const { ms } = await runTerminalCard(askBoard, project)
      if (round === 0) continue
      note(figures, `${side.name} session/ms`, ms)
      note(figures, `${side.name} session/server's cpu`, (await side.board.cpuMicros()) - cpu)
    }
}
