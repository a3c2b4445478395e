import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { Problem } from '../../src/contract/errors.ts'
import { changedFileOf, merge } from '../../src/cardWork/changes.ts'
import { findProjectRepository } from '../../src/git/checkoutState.ts'
import { GitFailed } from '../../src/git/git.ts'
import { commitWorktree } from '../../src/worktrees/commitWork.ts'
import { compareWorktree } from '../../src/worktrees/compareWorktree.ts'
import { isClean, worktreeOf } from '../../src/worktrees/findWorktree.ts'
import { createLocalRemote } from '../../src/worktrees/localRemote.ts'
import { listSlashCommands, readProjectFile } from '../../src/worktrees/projectFiles.ts'
import { dropWorktree } from '../../src/worktrees/cardWorktrees.ts'
import { createSubfolder } from '../../src/worktrees/createSubfolder.ts'
import { savePatch } from '../../src/worktrees/savePatch.ts'
import { syncBranch } from '../../src/worktrees/syncBranch.ts'
import { updateBranch } from '../../src/worktrees/updateBranch.ts'
import { commit, git, openProjects, unrecorded, write, type TestCard, type TestProject } from '../git/cards.ts'
import { deepestFolder, endRace, listContent, race, raceAll } from '../support/sandbox/race.ts'
import { hasSandbox } from '../git/sandboxSession.ts'

/** How often each operation runs. 140 are more than 2,000 operations. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 7)
const patienceMs = 60_000
vi.setConfig({ testTimeout: 60_000 + rounds * 10_000 })
const secret = 'a-secret-of-the-account'

let projects: Awaited<ReturnType<typeof openProjects>>
let outside: string
beforeAll(async () => {
  projects = await openProjects()
  outside = join(projects.folder, 'outside')
  fillOutside()
})
afterEach(() => endRace())
afterAll(() => projects.close())

/** Creates the folders and files of a worktree with other content. */
function fillOutside(): void {
  for (const index of [0, 1, 2]) write(join(outside, deepestFolder), `file-${index}`, `${secret}-${index}\n`)
  for (const name of ['.claude/commands/one.md', 'board.json']) write(outside, name, secret)
}

interface Raced {
  project: TestProject
  card: TestCard
  worktree: string
  /** Changes a file that no racer moves, so that every operation has work. */
  change(): void
  place(): Promise<NonNullable<Awaited<ReturnType<typeof worktreeOf>>>>
  repository(): Promise<NonNullable<Awaited<ReturnType<typeof findProjectRepository>>>>
}

let count = 0
async function prepare(copied: string[] = []): Promise<Raced> {
  const project = await projects.project(`raced-${++count}`)
  for (const index of [0, 1, 2]) write(project.path, `${deepestFolder}/file-${index}`, `committed ${index}\n`)
  write(project.path, '.gitignore', 'ignored/\n')
  write(project.path, `ignored/${deepestFolder}/file-0`, 'ignored\n')
  git(project.path, 'add', '-A')
  git(project.path, 'commit', '-qm', 'Add files')
  await project.set({ copiedFiles: copied })
  const card = await project.card()
  const worktree = (await card.start()).cwd
  let changes = 0
  const repository = async () => (await findProjectRepository(unrecorded(project.path)))!
  return {
    project,
    card,
    worktree,
    change: () => write(worktree, 'changed', `${++changes}\n`),
    place: async () => (await worktreeOf(await repository(), worktree))!,
    repository,
  }
}

/** Runs an operation that succeeds or fails with a clear error. Returns its output. */
async function attempt(operation: () => Promise<unknown>): Promise<string> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error('The operation hangs.')), patienceMs).unref()
  })
  try {
    const result = await Promise.race([operation(), late])
    return Buffer.isBuffer(result) ? result.toString() : (JSON.stringify(result) ?? '')
  } catch (error) {
    if (error instanceof Problem && error.code !== 'INTERNAL') return `${error.code} ${error.message}`
    if (error instanceof GitFailed) return error.message
    throw error
  }
}

/** Runs an operation repeatedly. Expects no read or write outside. */
async function repeat(path: string, operation: (round: number) => Promise<unknown>): Promise<string[]> {
  const before = listContent(outside)
  const said: string[] = []
  for (let round = 0; round < rounds; round++) said.push(await attempt(() => operation(round)))
  endRace()
  expect(said.filter(each => each.includes(secret))).toEqual([])
  expect(listContent(outside)).toEqual(before)
  const objects = execFileSync('git', ['-C', path, 'cat-file', '--batch-all-objects', '--batch'], {
    maxBuffer: 256 * 1024 * 1024,
  })
  expect(objects.includes(secret)).toBe(false)
  return said
}

describe.skipIf(!hasSandbox)(
  'while a sandboxed program swaps files, folders and links at each depth of a worktree',
  () => {
    test.each<[what: string, operation: (raced: Raced, round: number) => Promise<unknown>]>([
      ['a diff', ({ card }) => card.diff()],
      [
        'a changed file',
        async ({ card, project }, round) =>
          changedFileOf(projects.worktrees, await card.row(), unrecorded(project.path), {
            path: `${deepestFolder}/file-${round % 3}`,
            side: 'new',
          }),
      ],
      ['a review', async raced => compareWorktree(projects.worktrees, await raced.place(), null, { stores: true })],
      [
        'the question whether it is clean',
        ({ project, worktree }) => isClean(projects.worktrees, unrecorded(project.path), worktree, null),
      ],
      [
        'a patch',
        async ({ project, worktree }) => {
          const file = join(projects.folder, 'patch')
          rmSync(file, { force: true })
          const isSaved = await savePatch(projects.worktrees, unrecorded(project.path), worktree, null, file)
          return isSaved && readFileSync(file)
        },
      ],
      [
        'a commit',
        async raced => {
          raced.change()
          return commitWorktree(projects.worktrees, await raced.place(), { title: 'Work', isWhole: false })
        },
      ],
      ...(['merge', 'rebase'] as const).map((strategy): [string, (raced: Raced, round: number) => Promise<unknown>] => [
        strategy === 'merge' ? 'an update' : 'a rebase',
        async (raced, round) => {
          raced.change()
          const onto = commit(raced.project.path, `${deepestFolder}/file-2`, `theirs ${round}\n`)
          const place = await raced.place()
          return updateBranch(projects.worktrees, {
            repository: await raced.repository(),
            place,
            isManaged: true,
            branch: place.branch!,
            onto,
            strategy,
            title: 'Work',
            message: 'Merge',
          })
        },
      ]),
      ['the takeover of commits', async raced => syncBranch(projects.worktrees, await raced.place())],
      [
        'a new folder',
        ({ worktree }, round) => createSubfolder(projects.worktrees, worktree, `${deepestFolder}/new-${round}/x`),
      ],
      [
        'a push to a folder in it',
        async (raced, round) => {
          const repository = await raced.repository()
          return createLocalRemote(projects.worktrees).run(repository, join(raced.worktree, 'remote.git'), {
            args: ['push', '--', join(raced.worktree, 'remote.git'), `${repository.head}:refs/heads/pushed-${round}`],
            known: [],
            format: undefined,
            fetchedRef: null,
            timeoutMs: 20_000,
          })
        },
      ],
    ])('%s reads and writes nothing outside', async (what, operation) => {
      const raced = await prepare()
      if (what.startsWith('a push')) git(raced.worktree, 'clone', '-q', '--bare', raced.project.path, 'remote.git')
      await raceAll(raced.worktree, outside)
      const said = await repeat(raced.project.path, round => operation(raced, round))
      expect(said).toHaveLength(rounds)
    })

    test('the removal of the worktree removes nothing outside', async () => {
      const { project } = await prepare()
      await repeat(project.path, async () => {
        const { worktreePath, branch } = await (await project.card()).start()
        await raceAll(worktreePath!, outside)
        await dropWorktree(projects.worktrees, unrecorded(project.path), worktreePath!, branch).finally(endRace)
      })
    })
  },
)

describe.skipIf(!hasSandbox)(
  "while a sandboxed program swaps files, folders and links at each depth of a project's folder",
  () => {
    test('a merge into the branch that it has checked out writes nothing outside', async () => {
      const raced = await prepare()
      await raceAll(raced.project.path, outside)
      await repeat(raced.project.path, async round => {
        write(raced.worktree, `${deepestFolder}/file-${round % 3}`, `change ${round}\n`)
        raced.change()
        return merge(projects.worktrees, await raced.card.row(), unrecorded(raced.project.path), { squash: false })
      })
    })

    test('a worktree gets no copy of a file outside', async () => {
      const raced = await prepare(['ignored/**'])
      await raceAll(join(raced.project.path, 'ignored'), outside)
      await repeat(raced.project.path, async () => {
        const { cwd } = await (await raced.project.card()).start()
        return existsSync(join(cwd, 'ignored')) && listContent(join(cwd, 'ignored'))
      })
    })

    test('board.json and slash commands are read only from the worktree', async () => {
      const { project } = await prepare()
      write(project.path, '.claude/commands/one.md', 'own\n')
      write(project.path, 'board.json', '{}')
      symlinkSync(join(outside, '.claude/commands'), join(project.path, '.claude/link'))
      symlinkSync(join(outside, 'board.json'), join(project.path, 'board-link'))
      await race(project.path, join(project.path, '.claude'), 'commands', 'link')
      await race(project.path, project.path, 'board.json', 'board-link')
      await repeat(project.path, async () => [
        String((await readProjectFile(projects.worktrees, unrecorded(project.path), 'board.json', 1000))?.content),
        await listSlashCommands(projects.worktrees, unrecorded(project.path)),
      ])
    })
  },
)
