import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { openGitView } from '../../src/worktrees/gitView.ts'
import { commit, git, useProjects, unrecorded, type TestCard, type TestProject } from './cards.ts'

const projects = useProjects()
let project: TestProject
let card: TestCard
let worktree: string
let file: string
let count = 0
beforeEach(async () => {
  count++
  project = await projects.project()
  card = await project.card()
  worktree = (await card.start()).cwd
  file = join(project.path, '.git/objects/info/alternates')
})

const makeHuge = (path: string) => {
  writeFileSync(path, '')
  truncateSync(path, 1_500_000_000)
}
const stores = (names: readonly string[]) =>
  names.map(name => {
    const objects = join(projects.folder, `stores-${count}`, name)
    mkdirSync(join(objects, 'info'), { recursive: true })
    return objects
  })

test.each([
  ['has 1.5 GB', () => makeHuge(file), 'alternates has more than 64 KiB'],
  [
    'names a store whose file has 1.5 GB',
    () => {
      const [store] = stores(['borrowed'])
      makeHuge(join(store!, 'info/alternates'))
      writeFileSync(file, `# Shared\n${store}\n`)
    },
    'alternates has more than 64 KiB',
  ],
  ['is a pipe', () => execFileSync('mkfifo', [file]), 'alternates is not a regular file'],
  ['is a link to a device', () => execFileSync('ln', ['-s', '/dev/zero', file]), 'alternates is not a regular file'],
  ['names a store in quotes', () => writeFileSync(file, '"/tmp"\n'), 'in quotes'],
  [
    'names 17 stores',
    () => writeFileSync(file, stores(Array.from({ length: 17 }, (_, at) => `${at}`)).join('\n')),
    'more than 16 stores',
  ],
])('the diff, a new worktree and a session fail with CONFLICT if the alternates file %s', async (_, plant, problem) => {
  const failure = { code: 'CONFLICT', message: expect.stringContaining(problem) }
  plant()
  await expect(card.diff()).rejects.toMatchObject(failure)
  await expect((await project.card()).start()).rejects.toMatchObject(failure)
  await expect(
    openGitView(projects.worktrees, { project: unrecorded(project.path), worktreePath: worktree, branch: null }),
  ).rejects.toMatchObject(failure)
  rmSync(file)
  expect((await card.diff()).diff).toBe('')
})

test('a repository that borrows objects from another store works, and a session sees the store', async () => {
  const lender = await projects.project(`lender-${count}`)
  commit(lender.path, 'lent', 'lent\n')
  const objects = join(lender.path, '.git/objects')
  writeFileSync(file, `${objects}\n`)
  git(worktree, 'reset', '-q', '--hard', git(lender.path, 'rev-parse', 'HEAD'))
  expect((await card.diff()).diff).toContain('+lent')
  const { mounts } = await openGitView(projects.worktrees, {
    project: unrecorded(project.path),
    worktreePath: worktree,
    branch: null,
  })
  expect(mounts).toContainEqual({ kind: 'ro', target: objects })
})
