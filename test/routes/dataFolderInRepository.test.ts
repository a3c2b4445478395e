import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { commit, git } from '../git/cards.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let root: string
/** The repository whose folder `.board` is the server's data folder. */
let repository: string
let other: string
let board: TestBoard
let cli: CommandLine
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'board-inside-')))
  for (const name of ['repository', 'other', 'sub']) {
    mkdirSync(join(root, name))
    git(join(root, name), 'init', '-q', '-b', 'main')
    commit(join(root, name), 'README', 'Read me.\n')
  }
  ;[repository, other] = [join(root, 'repository'), join(root, 'other')]
  mkdirSync(join(repository, 'packages/web'), { recursive: true })
  git(repository, 'worktree', 'add', '-q', join(root, 'tree'))
  git(repository, 'worktree', 'add', '-q', join(repository, 'inside'))
  git(other, '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', join(root, 'sub'), 'sub')
  mkdirSync(join(repository, 'nested'))
  git(join(repository, 'nested'), 'init', '-q')
  board = await startBoard({ dataDir: join(repository, '.board'), logLevel: 'warn' })
  cli = commandLine({ BOARD_DATA_DIR: board.dataDir, BOARD_URL: board.url, BOARD_TOKEN: board.token })
})
afterAll(async () => {
  cli.close()
  await board.close()
  rmSync(root, { recursive: true, force: true })
})
const exclude = () => join(repository, '.git/info/exclude')
beforeEach(() => rmSync(exclude(), { force: true }))

/** Runs the doctor. Its exit code is 1 here, because the test creates files that others can read. */
const examine = async () => JSON.parse((await cli.board(['doctor', '--json'])).stdout) as Array<Record<string, string>>

const create = (path: string) => board.client.projects.create({ name: 'Project', path })
const refused = {
  status: 400,
  code: 'VALIDATION_FAILED',
  details: [{ path: 'path', message: expect.stringMatching(/\.board: .*add the line \/\.board\/ to .*info\/exclude/) }],
}

test.each([
  ['the repository', ''],
  ['a folder of the repository', 'packages/web'],
  ['a worktree of the repository elsewhere', '../tree'],
  ['a worktree of the repository inside', 'inside'],
])('a project in %s around the data folder is rejected with 400', async (_, path) => {
  await expect(create(join(repository, path))).rejects.toMatchObject(refused)
})

test.each([
  ['another repository', '../other'],
  ['a submodule', '../other/sub'],
  ['a repository nested in the repository', 'nested'],
])('a project in %s is created', async (_, path) => {
  expect((await create(join(repository, path))).path).toBe(join(repository, path))
})

test('a new folder in the repository is neither created nor used', async () => {
  await expect(
    board.client.projects.create({ name: 'New', path: join(repository, 'new'), createFolder: true }),
  ).rejects.toMatchObject(refused)
  expect(readdirSync(repository)).not.toContain('new')
})

test("a change of a project's path, and a further repository, are validated also", async () => {
  const { id } = await create(other)
  await expect(board.client.projects.update({ id, path: repository })).rejects.toMatchObject(refused)
  await expect(
    board.client.projects.update({ id, repositories: [{ name: 'lib', path: repository }] }),
  ).rejects.toMatchObject({ ...refused, details: [{ ...refused.details[0], path: 'repositories.0.path' }] })
})

test.each([
  ['.gitignore', () => join(repository, '.gitignore')],
  ['info/exclude', exclude],
])('a project in the repository is created if %s names the data folder', async (_, file) => {
  mkdirSync(join(repository, '.git/info'), { recursive: true })
  appendFileSync(file(), '/.board/\n')
  try {
    expect((await create(repository)).path).toBe(repository)
    expect(git(repository, 'status', '--porcelain')).not.toContain('.board')
    expect((await examine()).map(({ check }) => check)).not.toContain('repository')
  } finally {
    rmSync(file())
  }
})

test('the log of the start and board doctor report the repository around the data folder', async () => {
  const logs = readdirSync(join(board.dataDir, 'logs')).map(name =>
    readFileSync(join(board.dataDir, 'logs', name), 'utf8'),
  )
  expect(logs.join('')).toContain('add the line /.board/ to .gitignore or .git/info/exclude')
  const found = await examine()
  expect(found.find(({ check }) => check === 'repository')).toMatchObject({
    result: 'warning',
    detail: `${repository} contains ${board.dataDir}, and git add --all adds it`,
    advice: expect.stringContaining('/.board/'),
  })
})
