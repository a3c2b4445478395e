import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { runAgainst } from './against.ts'
import { aims as fileAims, databaseAims, judge, type Judged } from './aims.ts'
import type { Bench, Tell } from './bench.ts'
import { measureBrowser } from './browser.ts'
import { startChild } from './child.ts'
import type { Figures } from './figures.ts'
import { measureStartParts, speaker, speakerOf, traceIn } from './firstWord.ts'
import { machineText, measureMachine, presentLoad } from './machine.ts'
import { moveTo } from './moveTo.ts'
import { isWanted, readOptions, tablesOf, usage, type Options } from './options.ts'
import { requireParts, writePart } from './page.ts'
import { measureCommands, measureStarts } from './processes.ts'
import { aimsText, comparison, detailsText, reportOf, tableOf } from './report.ts'
import { measureWorks, type Servers } from './rounds.ts'
import { configureAgents, flooder, seedBoard, seedSmall, type Seeded } from './seed.ts'
import { measureSessions } from './sessions.ts'
import { measureEvents, measureReplay } from './sockets.ts'
import { measureTranscript } from './transcript.ts'
import { sizes } from './sizes.ts'
import { worksOf, type Work } from './works.ts'
import { measureWriters } from './writers.ts'

/** Measures the board next to its floors on this machine, and prints the results. */
export async function runBench(bench: Bench): Promise<void> {
  const options = optionsOf(bench.argv)
  if (!options) return
  const startedAt = performance.now()
  const tell: Tell = text => {
    process.stderr.write(`${Math.round((performance.now() - startedAt) / 1000)} s: ${text}\n`)
  }
  const busy = presentLoad()
  const figures: Figures = new Map()
  await measureMachine(bench.folder, figures)
  const machine = machineText(figures, busy, bench.folder)
  if (options.against !== undefined) await runAgainst(bench, options, figures, tell)
  else await runAlone(bench, { ...options, machine }, figures, tell)
  console.log(`This machine: ${machine}`)
  if (busy > availableParallelism() / 4)
    console.log(
      `Other programs were busy before this run (load ${busy.toFixed(1)} on ${availableParallelism()} processors): its figures are higher than those of a quiet machine, and lie further apart.`,
    )
}

/** Measures this tree's board next to its floors, and compares it with the aims. */
async function runAlone(
  bench: Bench,
  options: Options & { machine: string },
  figures: Figures,
  tell: Tell,
): Promise<void> {
  if (isWanted(options, 'browser')) await measureBrowser(bench, options, figures, tell)
  const works = isOnlyBrowser(options) ? [] : await measurePrograms(bench, options, figures, tell)
  report(figures, works, options)
}

const isOnlyBrowser = ({ only }: Options) => only.length > 0 && only.every(part => 'browser'.startsWith(part))

/** Measures everything except the browser. Returns the works. */
async function measurePrograms(bench: Bench, options: Options, figures: Figures, tell: Tell): Promise<readonly Work[]> {
  tell('seeding')
  const seeded = await seedBoard(bench.folder, sizes)
  const smallDataDir = await seedSmall(bench.folder)
  for (const dataDir of [seeded.dataDir, smallDataDir])
    configureAgents(dataDir, {
      [flooder]: { command: [process.execPath, bench.flood], env: { FIXTURE_UPDATES: String(options.floodUpdates) } },
      [speaker]: speakerOf(bench, options.agentStartMs),
    })
  if (options.database) moveTo(options.database, bench.board, seeded.dataDir)
  const works = worksOf(seeded)
  const program = {
    board: bench.board,
    dataDir: seeded.dataDir,
    smallDataDir,
    projectId: seeded.projects[100]!.projectId,
  }
  if (isWanted(options, 'start')) {
    tell('starting servers')
    await measureStarts(program, options.startRuns, figures)
  }
  await withServers(bench, seeded, options, async servers => {
    if (isWanted(options, 'commands')) {
      tell('running commands')
      measureCommands(program, options.processRuns, figures)
    }
    await measureServers(bench, servers, works, options, figures, tell)
  })
  return works
}

async function measureServers(
  { folder }: Bench,
  servers: Servers,
  works: readonly Work[],
  options: Options,
  figures: Figures,
  tell: Tell,
): Promise<void> {
  const creating = works.find(({ kind, via }) => kind === 'create' && via === 'key')!
  await measureWorks(
    servers,
    works.filter(({ name }) => isWanted(options, name)),
    options,
    figures,
    tell,
  )
  const parts = {
    writers: () => measureWriters(servers, works, options, figures),
    events: () => measureEvents(servers, creating, options, figures),
    replay: () => measureReplay(servers, creating, options, figures),
    transcript: () => measureTranscript(servers, options, figures),
    session: async () => {
      await measureSessions(servers, folder, options, figures)
      if (options.details) console.log(await measureStartParts({ ...servers, trace: traceIn(folder) }, folder, options))
    },
  }
  for (const [name, measure] of Object.entries(parts)) {
    if (!isWanted(options, name)) continue
    tell(name)
    await measure()
  }
}

function optionsOf(argv: readonly string[]): Options | undefined {
  try {
    const options = readOptions(argv)
    if (options.write !== undefined)
      requireParts(
        options.write,
        tablesOf(options).map(({ name }) => name),
      )
    return options
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exitCode = 2
    return undefined
  }
}

async function withServers(
  { folder, trace: program }: Bench,
  seeded: Seeded,
  { profile, database, details }: Options,
  work: (servers: Servers) => Promise<void>,
): Promise<void> {
  const profileOf = (name: string) => ({ profileDir: profile && join(profile, name) })
  const board = await startChild(
    join(folder, 'server.mjs'),
    { dataDir: seeded.dataDir, database },
    { ...profileOf('board'), ...(details && { trace: { program, file: traceIn(folder) } }) },
  )
  const floor = await startChild(join(folder, 'floor.mjs'), { databaseFile: seeded.floorFile }, profileOf('floor'))
  try {
    await work({ board, floor, seeded })
  } finally {
    await Promise.all([board.stop(), floor.stop()])
  }
}

function report(figures: Figures, works: readonly Work[], options: Options & { machine: string }): void {
  const aims = judge(figures, options.database === undefined ? fileAims : databaseAims)
  console.log(`\n${aimsText(figures, aims)}`)
  if (options.details) console.log(detailsText(figures, works))
  if (options.compare) console.log(comparison(figures, options.compare))
  if (options.json)
    writeFileSync(options.json, `${JSON.stringify(reportOf(figures, aims, options.machine), null, 2)}\n`)
  if (options.write !== undefined) write(options.write, figures, aims, options)
}

/** Writes the measurements to the tables of a page. */
function write(page: string, figures: Figures, aims: readonly Judged[], options: Options & { machine: string }): void {
  const { database, quick, machine } = options
  for (const { name, of } of tablesOf(options)) {
    const table = tableOf(figures, aims, figure => of.some(part => figure.startsWith(part) || memory[figure] === part))
    const flags = [
      ...(quick ? ['--quick'] : []),
      ...(database === undefined ? [] : ['--database', database]),
      '--only',
      of.join(','),
      '--write',
      page,
    ]
    if (table.rows.length > 0)
      writePart(page, { name, command: `npm run bench -- ${flags.join(' ')}`, machine, ...table })
  }
}

/** The part of the bench with which the memory of a server is measured. */
const memory: Record<string, string> = { 'memory/idle': 'start', 'memory/load': 'get' }
