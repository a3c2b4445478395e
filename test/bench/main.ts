import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { judge } from './aims.ts'
import { startChild } from './child.ts'
import type { Figures } from './figures.ts'
import { isWanted, readOptions, usage, type Options } from './options.ts'
import { measureCommands, measureStarts } from './processes.ts'
import { comparison, reportOf, textOf } from './report.ts'
import { measureWorks } from './rounds.ts'
import { seedBoard, type Seeded } from './seed.ts'
import { listSizes, worksOf, type Work } from './works.ts'
import { measureWriters } from './writers.ts'

/** Where the bundled parts are, the board's program, and what was typed. */
export interface Bench { folder: string; board: string; argv: readonly string[] }

/** Measures the board beside its floors on this machine, and prints what it finds. */
export async function runBench(bench: Bench): Promise<void> {
  const options = optionsOf(bench.argv)
  if (!options) return
  const startedAt = performance.now()
  const tell = (text: string) => process.stderr.write(`${Math.round((performance.now() - startedAt) / 1000)} s: ${text}\n`)
  tell('seeding')
  const seeded = await seedBoard(bench.folder, listSizes)
  const works = worksOf(seeded)
  const figures: Figures = new Map()
  const program = { board: bench.board, dataDir: seeded.dataDir, projectId: seeded.projects[100]!.projectId }
  if (isWanted(options, 'start')) {
    tell('starting servers')
    await measureStarts(program, options.startRuns, figures)
  }
  await withServers(bench, seeded, options, async servers => {
    if (isWanted(options, 'commands')) {
      tell('running commands')
      measureCommands(program, options.processRuns, figures)
    }
    await measureWorks(servers, works.filter(({ name }) => isWanted(options, name)), options, figures, tell)
    if (isWanted(options, 'writers')) {
      tell('writing at the same time')
      await measureWriters(servers, works, options, figures)
    }
  })
  report(figures, works, options)
}

function optionsOf(argv: readonly string[]): Options | undefined {
  try {
    return readOptions(argv)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exitCode = 2
    return undefined
  }
}

async function withServers({ folder }: Bench, seeded: Seeded, { profile }: Options, work: (servers: Parameters<typeof measureWriters>[0]) => Promise<void>): Promise<void> {
  const board = await startChild(join(folder, 'server.mjs'), { dataDir: seeded.dataDir }, profile && join(profile, 'board'))
  const floor = await startChild(join(folder, 'floor.mjs'), { databaseFile: seeded.floorFile }, profile && join(profile, 'floor'))
  try {
    await work({ board, floor, apiKey: seeded.apiKey })
  } finally {
    await Promise.all([board.stop(), floor.stop()])
  }
}

function report(figures: Figures, works: readonly Work[], options: Options): void {
  const aims = judge(figures)
  console.log(`\n${textOf(figures, works, aims)}`)
  if (options.compare) console.log(comparison(figures, options.compare))
  if (options.json) writeFileSync(options.json, `${JSON.stringify(reportOf(figures, aims), null, 2)}\n`)
}
