import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { slowdown } from '../support/waiting/eventually.ts'
import { commit, git, useProjects, write, type TestCard, type TestProject } from './cards.ts'

const projects = useProjects()
let project: TestProject
let card: TestCard
let worktree: string
let count = 0

const start = async () => {
  card = await project.card()
  worktree = (await card.start()).cwd
}
beforeEach(async () => {
  count++
  project = await projects.project()
  commit(project.path, 'src/one', Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join(''))
  commit(project.path, 'old', 'old\n')
  await start()
})

const nothing = { diff: '', stats: { filesChanged: 0, insertions: 0, deletions: 0 }, truncated: false }

test('a card that never ran, and one without changes, have an empty diff; a folder that is not a repository is an error', async () => {
  expect(await (await project.card()).diff()).toEqual(nothing)
  expect(await card.diff()).toEqual(nothing)
  rmSync(join(project.path, '.git'), { recursive: true })
  await expect(card.diff()).rejects.toMatchObject({ code: 'NOT_A_GIT_REPOSITORY' })
})

test('it contains committed, staged, changed, deleted and untracked files, no ignored ones, and no later changes of the project', async () => {
  commit(worktree, 'committed', 'one\ntwo\n')
  write(worktree, 'staged', 'staged\n')
  git(worktree, 'add', 'staged')
  appendFileSync(join(worktree, 'README'), 'More.\n')
  rmSync(join(worktree, 'old'))
  write(worktree, 'deep/ünträcked "x"', 'new\n')
  write(worktree, '.gitignore', 'ignored\n')
  write(worktree, 'ignored', 'x\n')
  commit(project.path, 'elsewhere', 'x\n')
  const { diff, stats, truncated } = await card.diff()
  expect(stats).toEqual({ filesChanged: 6, insertions: 6, deletions: 1 })
  expect(truncated).toBe(false)
  for (const part of [
    '+++ b/committed',
    '+++ b/staged',
    ' Read me.\n+More.',
    '--- a/old\n+++ /dev/null',
    '+new',
    '"b/deep/ünträcked \\"x\\""',
  ])
    expect(diff).toContain(part)
  expect(diff).not.toMatch(/elsewhere|b\/ignored/)
})

test('its patch can be applied, and reading it changes nothing', async () => {
  commit(worktree, 'committed', 'one\n')
  write(worktree, 'new', 'new\n')
  renameSync(join(worktree, 'src/one'), join(worktree, 'src/two'))
  chmodSync(join(worktree, 'README'), 0o755)
  symlinkSync('README', join(worktree, 'link'))
  const before = git(worktree, 'status', '--porcelain')
  const { diff } = await card.diff()
  expect(git(worktree, 'status', '--porcelain')).toBe(before)
  execFileSync('git', ['apply', '--index'], { cwd: project.path, input: diff })
  expect(git(project.path, 'status', '--porcelain').split('\n').sort()).toEqual([
    'A  committed',
    'A  link',
    'A  new',
    'M  README',
    'R  src/one -> src/two',
  ])
})

test('a rename is shown as a rename, and a binary file without its bytes', async () => {
  renameSync(join(worktree, 'src/one'), join(worktree, 'src/two'))
  write(worktree, 'image', Buffer.from([0, 1, 2, 255, 0]))
  const { diff, stats } = await card.diff()
  expect(diff).toContain('rename from src/one\nrename to src/two')
  expect(diff).toContain('Binary files /dev/null and b/image differ')
  expect(stats).toEqual({ filesChanged: 2, insertions: 0, deletions: 0 })
})

test('very large files are named without being read, whether committed or not', async () => {
  write(worktree, 'huge', '')
  truncateSync(join(worktree, 'huge'), 20 * 1024 ** 3)
  commit(worktree, 'large', 'x\n'.repeat(3 * 1024 * 1024))
  const startedAt = performance.now()
  const { diff, stats, truncated } = await card.diff()
  expect(performance.now() - startedAt).toBeLessThan(8000 * slowdown())
  expect(diff).toContain('Binary files /dev/null and b/huge differ')
  expect(diff).toContain('Binary files /dev/null and b/large differ')
  expect({ stats, truncated }).toEqual({ stats: { filesChanged: 2, insertions: 0, deletions: 0 }, truncated: false })
})

test("a long diff is truncated at a line's end and marked; its numbers are complete", async () => {
  for (let index = 0; index < 4; index++) write(worktree, `long-${index}`, `${'ä'.repeat(50)}\n`.repeat(12_000))
  const { diff, stats, truncated } = await card.diff()
  expect(truncated).toBe(true)
  expect(Buffer.byteLength(diff)).toBeLessThanOrEqual(2 * 1024 * 1024)
  expect(diff.endsWith('ä\n')).toBe(true)
  expect(stats).toEqual({ filesChanged: 4, insertions: 48_000, deletions: 0 })
})

test('a diff of very many files shows the first ones and is marked as truncated', async () => {
  for (let index = 0; index < 5100; index++) write(worktree, `many/${index}`, 'x\n')
  expect(await card.diff()).toMatchObject({ truncated: true, stats: { filesChanged: 5000, insertions: 5000 } })
})

test('files that are created and deleted, unreadable, or special do not break the diff', async () => {
  write(worktree, 'kept', 'kept\n')
  write(worktree, 'hidden', 'x\n')
  chmodSync(join(worktree, 'hidden'), 0)
  execFileSync('mkfifo', [join(worktree, 'pipe')])
  rmSync(join(worktree, 'README'))
  mkdirSync(join(worktree, 'README'))
  write(worktree, 'README/inner', 'inner\n')
  rmSync(join(worktree, 'src'), { recursive: true })
  symlinkSync('/etc', join(worktree, 'src'))
  write(worktree, '.gitattributes', 'kept working-tree-encoding=UTF-16\n* ident\n')
  const over = new AbortController()
  const churn = (async () => {
    for (let index = 0; !over.signal.aborted; index++) {
      write(worktree, `brief-${index % 50}`, 'x\n')
      rmSync(join(worktree, `brief-${(index + 25) % 50}`), { force: true })
      await new Promise(setImmediate)
    }
  })()
  for (let round = 0; round < 5; round++) {
    const { diff } = await card.diff()
    for (const part of ['+kept', '+inner', 'mode 120000', '--- a/src/one\n+++ /dev/null']) expect(diff).toContain(part)
  }
  over.abort()
  await churn
})

test('line endings that Git normalizes are not a change', async () => {
  commit(worktree, '.gitattributes', '* text=auto\n')
  const { stats } = await card.diff()
  writeFileSync(join(worktree, 'README'), 'Read me.\r\n')
  expect((await card.diff()).stats).toEqual(stats)
})

test('a worktree in the middle of a conflict shows the content of its files', async () => {
  commit(project.path, 'README', 'Main.\n')
  commit(worktree, 'README', 'Card.\n')
  expect(() => git(worktree, 'merge', 'main')).toThrow(/Command failed/)
  expect((await card.diff()).diff).toContain('+<<<<<<< HEAD')
})

test('without its worktree a card shows the content of its branch', async () => {
  commit(worktree, 'work', 'work\n')
  rmSync(worktree, { recursive: true })
  expect(await card.diff()).toMatchObject({ diff: expect.stringContaining('+work'), stats: { filesChanged: 1 } })
  git(project.path, 'worktree', 'prune')
  git(project.path, 'branch', '-D', (await card.row()).gitBranch!)
  expect(await card.diff()).toEqual(nothing)
})

test("a card in the project's folder shows the folder, also if the project is a subfolder of its repository", async () => {
  await project.set({ path: join(project.path, 'src') })
  card = await project.card({ useWorktree: false })
  await card.start()
  appendFileSync(join(project.path, 'README'), 'More.\n')
  write(project.path, 'src/new', 'new\n')
  expect(await card.diff()).toMatchObject({ stats: { filesChanged: 2, insertions: 2 } })
})

test('an attached worktree shows its work since it diverged from the project', async () => {
  const own = `${project.path}-own`
  git(project.path, 'worktree', 'add', '-q', '-b', 'mine', own)
  commit(own, 'mine', 'mine\n')
  commit(project.path, 'later', 'later\n')
  card = await project.card({ worktreePath: own, worktreeManaged: false, gitBranch: 'mine' })
  expect(await card.diff()).toMatchObject({ diff: expect.stringContaining('b/mine'), stats: { filesChanged: 1 } })
})

test('a repository inside of the worktree counts as a file', async () => {
  mkdirSync(join(worktree, 'inner'))
  git(join(worktree, 'inner'), 'init', '-q')
  commit(join(worktree, 'inner'), 'x', 'x\n')
  write(worktree, 'new', 'new\n')
  expect((await card.diff()).stats).toEqual({ filesChanged: 2, insertions: 2, deletions: 0 })
})

test('a repository with SHA-256 is read like any other, with a repository inside that has SHA-1', async () => {
  project = await projects.project(`sha256-${count}`, ['-b', 'main', '--object-format=sha256'])
  await start()
  git(worktree, 'init', '-q', '--object-format=sha1', 'inner')
  commit(join(worktree, 'inner'), 'x', 'x\n')
  write(worktree, 'new', 'new\n')
  expect((await card.diff()).stats).toEqual({ filesChanged: 1, insertions: 1, deletions: 0 })
})

test('planted programs of the agent do not run', async () => {
  const ran = join(projects.folder, `ran-${count}`)
  const program = join(worktree, 'program.sh')
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${ran}'\ncat\n`, { mode: 0o755 })
  write(worktree, '.gitattributes', '* filter=evil diff=evil merge=evil text\n')
  const settings = [
    'filter.evil.clean',
    'filter.evil.smudge',
    'filter.evil.process',
    'diff.evil.command',
    'diff.evil.textconv',
    'diff.external',
    'merge.evil.driver',
    'core.fsmonitor',
    'core.pager',
    'core.sshCommand',
    'core.alternateRefsCommand',
    'interactive.diffFilter',
    'gpg.program',
    'core.askPass',
  ]
  for (const setting of settings) git(project.path, 'config', setting, program)
  git(project.path, 'config', 'core.hooksPath', join(worktree, 'hooks'))
  for (const hook of ['post-index-change', 'reference-transaction', 'post-checkout', 'pre-auto-gc']) {
    mkdirSync(join(worktree, 'hooks'), { recursive: true })
    symlinkSync(program, join(worktree, 'hooks', hook))
  }
  appendFileSync(join(worktree, 'README'), 'changed\n')
  expect((await card.diff()).diff).toContain('+changed')
  rmSync(join(worktree, 'program.sh'))
  expect((await card.diff()).diff).toContain('+changed')
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${ran}'\ncat\n`, { mode: 0o755 })
  expect(existsSync(ran) ? readFileSync(ran, 'utf8') : 'nothing ran').toBe('nothing ran')
  // The bait works: Git runs it.
  execFileSync('git', ['status'], { cwd: worktree, stdio: 'ignore' })
  expect(existsSync(ran)).toBe(true)
})
