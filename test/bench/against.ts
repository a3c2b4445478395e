import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeChangedPlace, measureChangedCard } from './changedCards.ts'
import { startChild, type Child } from './child.ts'
import { note, type Figures } from './figures.ts'
import {
  firstWordMs,
  makeStartPlace,
  noteParts,
  partsText,
  repositorySizes,
  speaker,
  speakerOf,
  startAgent,
  traceIn,
} from './firstWord.ts'
import type { Bench, Tell } from './bench.ts'
import { isWanted, type Options } from './options.ts'
import { againstText } from './report.ts'
import { busyClients, load, measureOnce } from './rounds.ts'
import { configureAgents, seedBoard, type Seeded } from './seed.ts'
import { makeProject, makeRepository, requestAs, runTerminalCard } from './sessions.ts'
import { sizesOf, worksOf, type Work } from './works.ts'

const comparedKinds = new Set<Work['kind']>(['get', 'list', 'create', 'move'])

/** The server of a commit, with a separate board that its own sources seeded. */
interface Side {
  name: 'now' | 'then'
  folder: string
  board: Child
  seeded: Seeded
  works: Work[]
  trace: string
}

/**
 * Measures this tree's server and a commit's in turn, round after round, so that disturbances of the machine affect both, and prints
 * their ratio. The sides have no floors: each is compared with the other.
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
    await openSide('now', bench, bench.folder, seedBoard, options),
    await openSide('then', bench, built, seedThen, options),
  ]
  try {
    await measureRequests(sides, options, figures, tell)
    if (isWanted(options, 'session')) {
      await measureStartsOfSessions(sides, options, figures, tell)
      await measureFirstWords(sides, options, figures, tell)
      await measureChangedCards(sides, options, figures, tell)
    }
  } finally {
    await Promise.all(sides.map(({ board }) => board.stop()))
  }
  console.log(`\n${againstText(figures, commit)}`)
}

async function openSide(
  name: Side['name'],
  bench: Bench,
  folder: string,
  seed: typeof seedBoard,
  options: Options,
): Promise<Side> {
  const seeded = await seed(
    folder,
    sizesOf(work => isWanted(options, work)),
  )
  const works = worksOf(seeded).filter(work => comparedKinds.has(work.kind) && isWanted(options, work.name))
  configureAgents(seeded.dataDir, { [speaker]: speakerOf(bench, options.agentStartMs) })
  const trace = traceIn(folder)
  const board = await startChild(
    join(folder, 'server.mjs'),
    { dataDir: seeded.dataDir },
    {
      profileDir: options.profile && join(options.profile, name),
      ...(isWanted(options, 'session') && { trace: { program: bench.trace, file: trace } }),
    },
  )
  return { name, folder, board, seeded, works, trace }
}

/** Every second round starts with the other side. */
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

/** Measures the time from a move to the first output of the agent that it starts, and the CPU time of the server and its children until then. */
async function measureFirstWords(
  sides: readonly Side[],
  { sessionRuns, details }: Options,
  figures: Figures,
  tell: Tell,
): Promise<void> {
  for (const size of repositorySizes) {
    tell(`first words, ${size} repository`)
    const places = await Promise.all(
      sides.map(async side => ({ side, parts: new Map(), place: await makeStartPlace(side, side.folder, size) })),
    )
    for (let round = 0; round <= sessionRuns; round++)
      for (const { side, parts, place } of inTurn(places, round)) {
        const [cpu, theirs] = [await side.board.cpuMicros(), side.board.childrenCpuMicros()]
        const times = await startAgent(place)
        if (round === 0) continue
        noteParts(parts, times)
        note(figures, `${side.name} first word, ${size}/ms`, firstWordMs(times))
        note(figures, `${side.name} first word, ${size}/server's cpu`, (await side.board.cpuMicros()) - cpu)
        note(
          figures,
          `${side.name} first word, ${size}/cpu of what it started`,
          side.board.childrenCpuMicros() - theirs,
        )
      }
    for (const { side, parts, place } of places) {
      place.listener.close()
      if (details) console.log(partsText(`the ${size} repository, ${side.name}`, parts))
    }
  }
}

/** Measures reading the diff of a card that changed two files, and merging its branch. */
async function measureChangedCards(
  sides: readonly Side[],
  { sessionRuns }: Options,
  figures: Figures,
  tell: Tell,
): Promise<void> {
  tell('changes of cards')
  const places = await Promise.all(
    sides.map(async side => ({ side, place: await makeChangedPlace(requestAs(side), side.folder) })),
  )
  for (let round = 0; round <= sessionRuns; round++)
    for (const { side, place } of inTurn(places, round)) {
      const { diff, merge } = await measureChangedCard(place)
      if (round === 0) continue
      note(figures, `${side.name} diff/ms`, diff)
      note(figures, `${side.name} merge/ms`, merge)
    }
}
