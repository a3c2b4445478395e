import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { takeWorktreeRoots } from '../../src/worktrees/worktreeRoot.ts'
import { commit, git, openProjects, write, type TestProject } from './cards.ts'

let projects: Awaited<ReturnType<typeof openProjects>>
let project: TestProject
let count = 0
let roots: string
beforeAll(async () => {
  projects = await openProjects()
  mkdirSync(join(projects.folder, 'data'), { recursive: true })
})
afterAll(() => projects.close())
beforeEach(async () => {
  project = await projects.project(`project-${++count}`)
  roots = realpathSync(mkdtempSync(join(tmpdir(), 'board-roots-')))
  return () => rmSync(roots, { recursive: true, force: true })
})

const takeFor = (dataDir: string, worktreeRoot: string) => takeWorktreeRoots({ dataDir, worktreeRoot })
const take = (name: string) => takeFor(project.dataDir, join(roots, name)).worktreeRoot!

test('new worktrees are created below the root, an existing one keeps its place, and a deleted one is recreated below the current root', async () => {
  const [first, second] = [take('first'), take('deep/second')]
  const [one, other] = [await project.card(), await project.card()]
  const { projectId } = await one.row()
  const at = (root: string, { id }: { id: number }) => join(root, String(projectId), String(id))
  const made = await one.start({ worktreeRoot: first })
  expect(made).toMatchObject({ worktreePath: at(first, one), cwd: at(first, one) })
  expect((await one.row()).worktreePath).toBe(at(first, one))
  expect([first, at(first, one), second].map(path => statSync(join(path, '..')).mode & 0o77)).toEqual([0, 0, 0])
  commit(made.cwd, 'work', 'work\n')
  write(made.cwd, 'loose', 'loose\n')
  expect(await one.start({ worktreeRoot: second })).toEqual(made)
  expect(await one.start()).toEqual(made)
  expect(await other.start({ worktreeRoot: second })).toMatchObject({ worktreePath: at(second, other) })
  expect((await one.diff()).stats).toMatchObject({ filesChanged: 2 })

  rmSync(made.cwd, { recursive: true })
  expect(await one.start({ worktreeRoot: second })).toEqual({
    ...made,
    cwd: at(second, one),
    worktreePath: at(second, one),
  })
  expect(readFileSync(join(at(second, one), 'work'), 'utf8')).toBe('work\n')
  expect(git(project.path, 'worktree', 'list')).not.toContain(first)
  await one.merge()
  await one.remove()
  expect(existsSync(at(second, one))).toBe(false)
})

test('a worktree in no root of this board is not used', async () => {
  const first = take('first')
  const card = await project.card()
  const { branch } = await card.start({ worktreeRoot: first })
  rmSync(join(project.dataDir, 'worktree-roots.json'))
  git(project.path, 'worktree', 'remove', '--force', (await card.row()).worktreePath!)
  mkdirSync((await card.row()).worktreePath!)
  const again = await card.start()
  expect(again).toMatchObject({ branch, worktreePath: expect.stringContaining(project.dataDir) })
})

test.each<[string, RegExp, () => string]>([
  ['the home folder', /it is the home folder/, () => projects.home],
  ['a folder above the home folder', /or contains it/, () => '/'],
  ['the data folder', /the data folder/, () => project.dataDir],
  ['a folder in the data folder', /the data folder/, () => join(project.dataDir, 'attachments')],
  ['a folder above the data folder', /the data folder|home folder/, () => projects.folder],
  ['a repository', /is inside the Git repository/, () => project.path],
  ['a new folder in a repository', /is inside the Git repository/, () => join(project.path, 'new/worktrees')],
  [
    'a link into a repository',
    /is inside the Git repository/,
    () => {
      symlinkSync(project.path, join(roots, 'link'))
      return join(roots, 'link')
    },
  ],
  [
    'a file',
    /it is a file/,
    () => {
      writeFileSync(join(roots, 'file'), '')
      return join(roots, 'file')
    },
  ],
  [
    'a folder below a file',
    /a part of its path is a file/,
    () => {
      writeFileSync(join(roots, 'file'), '')
      return join(roots, 'file', 'below')
    },
  ],
  [
    'a world-writable folder',
    /other accounts can write to it/,
    () => {
      const path = join(roots, 'open')
      mkdirSync(path)
      chmodSync(path, 0o777)
      return path
    },
  ],
  [
    'a folder with other files',
    /it contains other files/,
    () => {
      write(roots, 'used/notes', '')
      return join(roots, 'used')
    },
  ],
  [
    'a folder of another board',
    /it belongs to the board of/,
    () => {
      mkdirSync(join(roots, 'data'))
      takeFor(join(roots, 'data'), join(roots, 'theirs'))
      return join(roots, 'theirs')
    },
  ],
])('%s is rejected as a root of worktrees', (_, message, path) => {
  expect(() => takeFor(project.dataDir, path())).toThrow(
    expect.objectContaining({ code: 'VALIDATION_FAILED', message: expect.stringMatching(message) }),
  )
})

test('a root that is rejected because of its repository is not created', () => {
  expect(() => takeFor(project.dataDir, join(project.path, 'new/worktrees'))).toThrow()
  expect(existsSync(join(project.path, 'new'))).toBe(false)
})

test("the board's own root is accepted again, also after its data folder was moved", () => {
  mkdirSync(join(roots, 'data'))
  const root = takeFor(join(roots, 'data'), join(roots, 'own')).worktreeRoot!
  write(root, '12/3/file', '')
  expect(takeFor(join(roots, 'data'), root).worktreeRoot).toBe(root)
  rmSync(join(roots, 'data'), { recursive: true })
  mkdirSync(join(roots, 'moved'))
  expect(takeFor(join(roots, 'moved'), root).worktreeRoot).toBe(root)
  expect(takeFor(join(roots, 'moved'), join(roots, 'moved/worktrees'))).toEqual({
    worktreeRoot: join(roots, 'moved/worktrees'),
    earlierWorktreeRoots: [root],
  })
})
