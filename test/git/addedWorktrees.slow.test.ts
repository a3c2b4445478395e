import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordGit, type GitRuns } from '../support/git/recordGit.ts'
import { commit, git, openProjects, type TestProject } from './cards.ts'

let recorded: GitRuns | undefined
let projects: Awaited<ReturnType<typeof openProjects>>
let project: TestProject
beforeAll(async () => {
  projects = await openProjects()
  project = await projects.project('project')
  commit(project.path, 'a', 'a\n')
  // The first start records the project's folder.
  await (await project.card()).start()
})
afterAll(async () => {
  recorded?.stop()
  await projects.close()
})

const adminOf = (worktreePath: string) => git(worktreePath, 'rev-parse', '--absolute-git-dir')

const runsOfStart = async (): Promise<string[]> => {
  const card = await project.card()
  recorded = recordGit(project.dataDir)
  await card.start()
  recorded.stop()
  return recorded.runs()
}

test('a card starts with two runs of Git, a search for filters of the account, and ten if the configuration has just changed', async () => {
  git(project.path, 'config', 'user.name', 'Somebody')
  expect((await runsOfStart()).length).toBeLessThanOrEqual(10)
  await expect
    .poll(async () =>
      (await runsOfStart())
        .map(commandOf)
        .filter(name => name !== 'grep')
        .toSorted(),
    )
    .toEqual(['read-tree', 'update-ref'])
})

test('its worktree is valid for Git', async () => {
  const { worktreePath, branch, baseCommit } = await (await project.card()).start()
  expect(git(project.path, 'worktree', 'prune', '--verbose', '--dry-run')).toBe('')
  expect(git(project.path, 'worktree', 'list', '--porcelain')).toContain(
    `worktree ${worktreePath}\nHEAD ${baseCommit}\nbranch refs/heads/${branch}`,
  )
  expect(git(project.path, 'reflog', 'show', '--format=%gs', branch!)).toBe(`branch: Created from ${baseCommit}`)
  expect(existsSync(join(adminOf(worktreePath!), 'locked'))).toBe(false)
  expect(git(worktreePath!, 'status', '--porcelain')).toBe('')
  git(worktreePath!, 'worktree', 'move', worktreePath!, `${worktreePath}-moved`)
  git(project.path, 'worktree', 'remove', `${worktreePath}-moved`)
})

test('if its name exists in the repository it gets the next one', async () => {
  const card = await project.card()
  mkdirSync(join(project.path, '.git/worktrees', String(card.id)), { recursive: true })
  const { worktreePath } = await card.start()
  expect(adminOf(worktreePath!)).toBe(join(project.path, '.git/worktrees', `${card.id}1`))
})

test('a branch that was created concurrently is not used for the card', async () => {
  const card = await project.card()
  git(project.path, 'branch', `board/${card.id}-fix-the-door`)
  git(project.path, 'pack-refs', '--all')
  expect((await card.start()).branch).toBe(`board/${card.id}-fix-the-door-2`)
})

test('Git adds it if the repository has a sparse checkout', async () => {
  git(project.path, 'sparse-checkout', 'set', '--no-cone', '/b')
  const { worktreePath } = await (await project.card()).start()
  expect(existsSync(join(worktreePath!, 'a'))).toBe(false)
})

test('if the list of worktrees is a link, no file is written to its target', async () => {
  const own = await projects.project('linked-list')
  const outside = join(own.dataDir, 'outside')
  mkdirSync(outside, { recursive: true })
  rmSync(join(own.path, '.git/worktrees'), { recursive: true, force: true })
  symlinkSync(outside, join(own.path, '.git/worktrees'))
  await expect((await own.card()).start()).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(readdirSync(outside)).toEqual([])
})

test("refs that are packed in another repository's file are found like Git finds them", async () => {
  const own = await projects.project('linked-refs')
  const card = await own.card()
  git(own.path, 'branch', `board/${card.id}-fix-the-door`)
  git(own.path, 'pack-refs', '--all')
  renameSync(join(own.path, '.git/packed-refs'), join(own.path, 'packed'))
  symlinkSync('../packed', join(own.path, '.git/packed-refs'))
  expect((await card.start()).branch).toBe(`board/${card.id}-fix-the-door-2`)
})

test('a link in place of a branch does not count as a free name', async () => {
  const own = await projects.project('linked-branch')
  const card = await own.card()
  mkdirSync(join(own.path, '.git/refs/heads/board'), { recursive: true })
  symlinkSync(git(own.path, 'symbolic-ref', 'HEAD'), join(own.path, `.git/refs/heads/board/${card.id}-fix-the-door`))
  expect((await card.start()).branch).toBe(`board/${card.id}-fix-the-door-2`)
})

test('a repository with SHA-256 ids also gets its worktree', async () => {
  const own = await projects.project('long-ids', ['--object-format=sha256'])
  const { worktreePath, baseCommit } = await (await own.card()).start()
  expect(baseCommit).toHaveLength(64)
  expect(git(worktreePath!, 'rev-parse', 'HEAD')).toBe(baseCommit)
})

/** The command in the arguments of a run of Git. */
const commandOf = (run: string): string =>
  run.split(' ').find((each, at, all) => !each.startsWith('-') && all[at - 1] !== '-c') ?? ''
