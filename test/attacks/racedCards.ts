import { execFileSync } from 'node:child_process'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { join } from 'node:path'
import { ApiFailure } from '../../src/client/index.ts'
import { Problem } from '../../src/contract/errors.ts'
import { findProjectRepository } from '../../src/git/checkoutState.ts'
import { GitFailed, inGitDir } from '../../src/git/git.ts'
import type { Repository } from '../../src/git/workingTrees.ts'
import { worktreeOf } from '../../src/worktrees/findWorktree.ts'
import { git, openProjects, unrecorded, write, type TestCard, type TestProject } from '../git/cards.ts'
import { deepestFolder, endRace, isRacing, listContent } from '../support/sandbox/race.ts'

/** How often each operation runs. 5 are more than 100 operations in total, 100 are more than 2,000. */
export const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 5)
/** The shortest time of a race. In this time, each name refers to the file outside for hundreds of milliseconds. */
const minRaceMs = 1000
/** The longest time for the races of one test. */
export const maxRaceMs = 60_000 + rounds * 10_000
const patienceMs = 60_000
/** The content of the files outside, which no operation may read. */
export const secret = 'a-secret-of-the-account'

/** A card with a worktree whose files a program swaps. */
export interface Raced {
  project: TestProject
  card: TestCard
  worktree: string
  /** Changes a file that no racer moves, so that every operation has work. */
  change(): void
  place(): Promise<Repository>
  repository(): Promise<Repository>
}

export type RacedCards = Awaited<ReturnType<typeof openRacedCards>>

/** Opens cards for the races of a test file, and closes them afterwards. */
export function useRacedCards(): RacedCards {
  const cards = {} as RacedCards
  beforeAll(async () => void Object.assign(cards, await openRacedCards()))
  afterEach(() => endRace())
  afterAll(() => cards.close())
  return cards
}

async function openRacedCards() {
  const projects = await openProjects()
  const { worktrees, folder } = projects
  const outside = join(folder, 'outside')
  fillOutside(outside)
  const raced = new Set<string>()
  const run = worktrees.run
  worktrees.run = (name, ...rest) => {
    if (isRacing()) raced.add(name)
    return run(name, ...rest)
  }
  let count = 0
  /** Creates a project with files at each depth, and a card with a worktree. */
  const prepare = async (copied: string[] = [], fill?: (path: string) => void): Promise<Raced> => {
    const project = await projects.project(`raced-${++count}`)
    for (const index of [0, 1, 2]) write(project.path, `${deepestFolder}/file-${index}`, `committed ${index}\n`)
    write(project.path, '.gitignore', 'ignored/\n')
    write(project.path, `ignored/${deepestFolder}/file-0`, 'ignored\n')
    git(project.path, 'add', '-A')
    git(project.path, 'commit', '-qm', 'Add files')
    fill?.(project.path)
    await project.set({ copiedFiles: copied })
    const card = await project.card()
    const worktree = (await card.start()).cwd
    let changes = 0
    return {
      project,
      card,
      worktree,
      change: () => write(worktree, 'changed', `${++changes}\n`),
      place: () => placeOf(project, worktree),
      repository: () => repositoryOf(project),
    }
  }
  /**
   * Runs an operation `rounds` times, and a quick one until it was raced for a while, at most `maxRounds` times. Expects no read
   * or write outside. Returns what each run returned or reported.
   */
  const repeat = async (
    path: string,
    operation: (round: number) => Promise<unknown>,
    maxRounds = 1000,
  ): Promise<string[]> => {
    const before = listContent(outside)
    const said: string[] = []
    const until = Date.now() + minRaceMs
    while (said.length < rounds || (Date.now() < until && said.length < maxRounds))
      said.push(await attempt(() => operation(said.length)))
    endRace()
    expect(said.filter(each => each.includes(secret))).toEqual([])
    expect(listContent(outside)).toEqual(before)
    expect(objectsOf(join(path, '.git')).includes(secret)).toBe(false)
    return said
  }
  return { projects, worktrees, outside, raced, prepare, repeat, close: projects.close }
}

/** Creates the folders and files that racers refer to, with other content. */
function fillOutside(outside: string): void {
  for (const index of [0, 1, 2]) write(join(outside, deepestFolder), `file-${index}`, `${secret}-${index}\n`)
  for (const name of ['.claude/commands/one.md', 'board.json', 'HEAD', 'refs/heads/one', 'objects/aa/one'])
    write(outside, name, secret)
}

const repositoryOf = async ({ path }: TestProject): Promise<Repository> =>
  (await findProjectRepository(unrecorded(path)))!
export const placeOf = async (project: TestProject, worktree: string): Promise<Repository> =>
  (await worktreeOf(await repositoryOf(project), worktree))!

/** The content of all objects in a Git folder. */
export const objectsOf = (gitDir: string): Buffer =>
  execFileSync('git', ['cat-file', '--batch-all-objects', '--batch'], {
    env: { ...process.env, ...inGitDir(gitDir) },
    maxBuffer: 256 * 1024 * 1024,
  })

/** Runs an operation that succeeds or fails with a clear error. Returns its output. */
export async function attempt(operation: () => Promise<unknown>): Promise<string> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error('The operation hangs.')), patienceMs).unref()
  })
  try {
    const result = await Promise.race([operation(), late])
    return Buffer.isBuffer(result) ? result.toString() : (JSON.stringify(result) ?? '')
  } catch (error) {
    const causes: unknown[] = error instanceof AggregateError ? error.errors : [error]
    if (causes.every(isClear)) return causes.map(each => each.message).join(' ')
    throw error
  }
}

const isClear = (error: unknown): error is Problem | GitFailed | ApiFailure =>
  error instanceof GitFailed || ((error instanceof Problem || error instanceof ApiFailure) && error.code !== 'INTERNAL')
