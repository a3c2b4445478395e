import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { processMark } from '../../src/system/kernel.ts'
import { merge } from '../../src/cardWork/changes.ts'
import { commit, git, useProjects, write, unrecorded, type TestCard, type TestProject } from './cards.ts'

const projects = useProjects()
let project: TestProject
let card: TestCard
let worktree: string
let count = 0
beforeEach(async () => {
  count++
  project = await projects.project()
  commit(project.path, 'src/one', 'one\n')
  card = await project.card()
  worktree = (await card.start()).cwd
})

const tip = (branch = 'main', cwd = project.path) => git(cwd, 'rev-parse', branch)
const show = (revision: string, format: string) => git(project.path, 'show', '-s', `--format=${format}`, revision)
/** Everything that a merge could change: refs, the project's files and index, and the worktree's. */
const state = () =>
  [
    git(project.path, 'for-each-ref'),
    git(project.path, 'status', '--porcelain', '--branch'),
    git(worktree, 'status', '--porcelain', '--branch'),
    readdirSync(project.path).join(),
  ].join('\n')

test("a card's commits become a merge commit on the project's branch, and its files are updated", async () => {
  const work = commit(worktree, 'work', 'work\n')
  const before = tip()
  const later = commit(project.path, 'later', 'later\n')
  expect(later).not.toBe(before)
  const merged = await card.merge()
  expect(merged).toMatchObject({ merged: true, into: 'main', commit: tip() })
  expect(show('main', '%P|%s')).toBe(`${later} ${work}|Merge: Fix the door`)
  expect(readFileSync(join(project.path, 'work'), 'utf8')).toBe('work\n')
  expect(git(project.path, 'status', '--porcelain')).toBe('')
  expect(git(worktree, 'status', '--porcelain')).toBe('')
  expect(await card.merge()).toMatchObject({ merged: false, into: 'main', commit: tip() })
})

test('uncommitted changes are committed in the worktree and merged also; then the worktree has no unsaved work', async () => {
  appendFileSync(join(worktree, 'README'), 'More.\n')
  write(worktree, 'staged', 'staged\n')
  git(worktree, 'add', 'staged')
  write(worktree, 'deep/untracked', 'untracked\n')
  rmSync(join(worktree, 'src/one'))
  expect((await card.merge()).merged).toBe(true)
  expect(git(worktree, 'status', '--porcelain')).toBe('')
  expect(git(worktree, 'log', '-1', '--format=%s')).toBe('Fix the door')
  expect(git(project.path, 'status', '--porcelain')).toBe('')
  expect(readFileSync(join(project.path, 'README'), 'utf8')).toBe('Read me.\nMore.\n')
  expect(git(project.path, 'ls-tree', '-r', '--name-only', 'main').split('\n')).toEqual([
    'README',
    'deep/untracked',
    'staged',
  ])
  expect(git(worktree, 'fsck', '--no-dangling')).toBe('')
  await card.remove()
  expect(existsSync(worktree)).toBe(false)
})

test('squashed, all of it is one commit with one parent', async () => {
  commit(worktree, 'a', 'a\n')
  commit(worktree, 'b', 'b\n')
  write(worktree, 'c', 'c\n')
  const before = tip()
  expect(await card.merge({ squash: true })).toMatchObject({ merged: true, into: 'main', commit: tip() })
  expect(show('main', '%P|%B')).toBe(`${before}|Fix the door`)
  expect(readdirSync(project.path).sort()).toEqual(['.git', 'README', 'a', 'b', 'c', 'src'])
  expect(await card.merge({ squash: true })).toMatchObject({ merged: false })
})

test.each([false, true])('a conflict names the files and changes nothing (squash: %s)', async squash => {
  commit(worktree, 'src/one', 'card\n')
  write(worktree, 'README', 'card\n')
  commit(project.path, 'src/one', 'main\n')
  commit(project.path, 'README', 'main\n')
  const before = state()
  await expect(card.merge({ squash })).rejects.toMatchObject({
    code: 'MERGE_CONFLICT',
    message: expect.stringContaining('README, src/one'),
    details: [{ path: 'README' }, { path: 'src/one' }],
  })
  expect(state()).toBe(before)
  expect(existsSync(join(worktree, '.git/index.lock'))).toBe(false)
  write(worktree, 'README', 'main\n')
  write(worktree, 'src/one', 'main\n')
  expect(await card.merge({ squash })).toMatchObject({ merged: !squash })
})

test.each<[string, () => void]>([
  ['a changed file', () => appendFileSync(join(project.path, 'README'), 'mine\n')],
  [
    'a staged file',
    () => {
      write(project.path, 'mine', 'mine\n')
      git(project.path, 'add', 'mine')
    },
  ],
  ['a deleted file', () => rmSync(join(project.path, 'README'))],
  ['an untracked file in the way', () => write(project.path, 'work', 'mine\n')],
])('into a checked-out branch with %s it is rejected, and nothing changes', async (_, change) => {
  commit(worktree, 'work', 'work\n')
  change()
  const before = state()
  await expect(card.merge()).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
  expect(state()).toBe(before)
})

test('untracked files that conflict with no change remain', async () => {
  commit(worktree, 'work', 'work\n')
  write(project.path, 'mine', 'mine\n')
  expect((await card.merge()).merged).toBe(true)
  expect(git(project.path, 'status', '--porcelain')).toBe('?? mine')
})

test('a branch without a checkout advances, and one in another worktree updates the files there', async () => {
  commit(worktree, 'work', 'work\n')
  git(project.path, 'branch', 'release')
  const before = tip()
  expect(await card.merge({ into: 'release' })).toMatchObject({ merged: true, into: 'release', commit: tip('release') })
  expect(tip()).toBe(before)
  expect(git(project.path, 'status', '--porcelain')).toBe('')
  const own = `${project.path}-own`
  git(project.path, 'worktree', 'add', '-q', '-b', 'other', own)
  await card.merge({ into: 'other' })
  expect(readFileSync(join(own, 'work'), 'utf8')).toBe('work\n')
  expect(git(own, 'status', '--porcelain')).toBe('')
  rmSync(own, { recursive: true })
  write(worktree, 'more', 'more\n')
  expect((await card.merge({ into: 'other' })).commit).toBe(tip('other'))
})

test('with a detached HEAD the project must name the target branch', async () => {
  commit(worktree, 'work', 'work\n')
  git(project.path, 'checkout', '-q', '--detach')
  await expect(card.merge()).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('detached HEAD'),
  })
  expect((await card.merge({ into: 'main' })).commit).toBe(tip('main'))
  expect(existsSync(join(project.path, 'work'))).toBe(false)
})

test.each(['nothing', '--output=/tmp/x', 'main^', 'HEAD', 'refs/heads/main', '', '../x', 'a\nb'])(
  '%j is not a branch to merge into',
  async into => {
    commit(worktree, 'work', 'work\n')
    const before = state()
    await expect(card.merge({ into })).rejects.toMatchObject({ code: 'VALIDATION_FAILED', details: [{ path: 'into' }] })
    expect(state()).toBe(before)
  },
)

test('a card that cannot be merged returns the reason', async () => {
  await expect((await project.card()).merge()).rejects.toMatchObject({ code: 'CONFLICT' })
  const inPlace = await project.card({ useWorktree: false })
  await inPlace.start()
  await expect(inPlace.merge()).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(card.merge({ into: (await card.row()).gitBranch! })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('own branch'),
  })
  git(project.path, 'checkout', '-q', '--orphan', 'apart')
  git(project.path, 'commit', '-q', '-m', 'Apart')
  commit(worktree, 'work', 'work\n')
  await expect(card.merge()).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('no common commit'),
  })
  rmSync(join(worktree, '.git'))
  await expect(card.merge()).rejects.toMatchObject({ code: 'CONFLICT' })
})

test('the lock of a killed server is taken over, and that of a running one is not', async () => {
  const lock = git(worktree, 'rev-parse', '--git-path', 'index.lock')
  write(worktree, 'work', 'work\n')
  writeFileSync(lock, `board ${process.ppid} ${processMark(process.ppid)}\n`)
  await expect(card.merge()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is busy') })
  // This process has the pid, and started at another time.
  writeFileSync(lock, `board ${process.pid} another-boot/1\n`)
  await card.merge()
  expect(existsSync(lock)).toBe(false)
  expect(git(worktree, 'status', '--porcelain')).toBe('')
  expect(git(project.path, 'show', 'HEAD:work')).toBe('work')
})

test('a worktree with its own conflict, or with a running Git operation, is not touched', async () => {
  writeFileSync(git(worktree, 'rev-parse', '--git-path', 'index.lock'), '')
  await expect(card.merge()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('is busy') })
  expect(existsSync(git(worktree, 'rev-parse', '--git-path', 'index.lock'))).toBe(true)
  rmSync(git(worktree, 'rev-parse', '--git-path', 'index.lock'))
  commit(project.path, 'README', 'Main.\n')
  commit(worktree, 'README', 'Card.\n')
  expect(() => git(worktree, 'merge', 'main')).toThrow(/Command failed/)
  const before = state()
  await expect(card.merge()).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('unresolved conflicts'),
  })
  expect(state()).toBe(before)
})

test("without its worktree a card's branch is merged", async () => {
  commit(worktree, 'work', 'work\n')
  rmSync(worktree, { recursive: true })
  expect((await card.merge()).merged).toBe(true)
  expect(existsSync(join(project.path, 'work'))).toBe(true)
})

test("commits have the user's name if Git has it, otherwise the board's", async () => {
  commit(worktree, 'work', 'work\n')
  await card.merge()
  expect(show('main', '%an <%ae> %cn <%ce>')).toBe('board <board@localhost> board <board@localhost>')
  writeFileSync(join(projects.home, '.gitconfig'), '[user]\n\tname = Ada <> Example\n\temail = ada@example.org\n')
  try {
    write(worktree, 'more', 'more\n')
    await card.merge()
    expect(show('main', '%an <%ae> %cn <%ce>')).toBe('Ada Example <ada@example.org> Ada Example <ada@example.org>')
    expect(show('main^2', '%an <%ae>')).toBe('Ada Example <ada@example.org>')
  } finally {
    rmSync(join(projects.home, '.gitconfig'))
  }
})

test('files that a filter of the repository would change are not committed without it', async () => {
  git(project.path, 'config', 'filter.own.clean', 'false')
  commit(worktree, '.gitattributes', '*.bin filter=own\n*.txt filter=unknown\n')
  write(worktree, 'a.txt', 'plain\n')
  expect((await card.merge()).merged).toBe(true)
  write(worktree, 'a.bin', 'large\n')
  const before = state()
  await expect(card.merge()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('filter') })
  expect(state()).toBe(before)
})

test('a split index is complete afterwards', async () => {
  git(worktree, 'update-index', '--split-index')
  for (let index = 0; index < 30; index++) write(worktree, `file-${index}`, 'x\n')
  await card.merge()
  expect(git(worktree, 'status', '--porcelain')).toBe('')
  expect(git(worktree, 'ls-files').split('\n').length).toBe(32)
})

test('planted hooks, merge drivers, external diffs and monitors of the agent do not run', async () => {
  const ran = join(projects.folder, `ran-${count}`)
  const program = join(projects.folder, `program-${count}`)
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${ran}'\nexit 1\n`, { mode: 0o755 })
  commit(worktree, '.gitattributes', '* merge=evil diff=evil\n')
  commit(worktree, 'src/one', 'zero\none\n')
  commit(project.path, 'src/one', 'one\ntwo\n')
  for (const setting of [
    'merge.evil.driver',
    'diff.evil.command',
    'diff.evil.textconv',
    'diff.external',
    'core.fsmonitor',
    'core.editor',
    'core.pager',
    'gpg.program',
  ])
    git(project.path, 'config', setting, program)
  git(project.path, 'config', 'merge.verifySignatures', 'true')
  git(project.path, 'config', 'core.hooksPath', join(worktree, 'hooks'))
  mkdirSync(join(worktree, 'hooks'))
  for (const hook of [
    'pre-commit',
    'commit-msg',
    'prepare-commit-msg',
    'post-commit',
    'pre-merge-commit',
    'post-merge',
    'post-checkout',
    'post-index-change',
    'reference-transaction',
  ])
    symlinkSync(program, join(worktree, 'hooks', hook))
  expect((await card.merge()).merged).toBe(true)
  expect(readFileSync(join(project.path, 'src/one'), 'utf8')).toBe('zero\none\ntwo\n')
  expect(existsSync(ran) ? readFileSync(ran, 'utf8') : 'nothing ran').toBe('nothing ran')
  // The bait works: Git runs it.
  expect(() => git(worktree, 'commit', '--allow-empty', '-q', '-m', 'x')).toThrow(/Command failed/)
  expect(existsSync(ran)).toBe(true)
})

test("a running agent's work is not merged", async () => {
  commit(worktree, 'work', 'work\n')
  await expect(
    merge(projects.worktrees, { ...(await card.row()), status: 'running' }, unrecorded(project.path), {
      squash: false,
    }),
  ).rejects.toMatchObject({ code: 'AGENT_ALREADY_RUNNING' })
})

test('concurrent merges of cards all succeed', async () => {
  const cards = await Promise.all(Array.from({ length: 6 }, () => project.card()))
  for (const [index, each] of cards.entries()) write((await each.start()).cwd, `work-${index}`, 'x\n')
  await Promise.all(cards.map(each => each.merge()))
  expect(readdirSync(project.path).filter(name => name.startsWith('work-')).length).toBe(6)
  expect(git(project.path, 'status', '--porcelain')).toBe('')
})

test("a merge into a checked-out branch runs no filter of the repository; the account's own filters run", async () => {
  const ran = join(projects.folder, `ran-${count}`)
  const program = join(projects.folder, `program-${count}`)
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${ran}'\ncat\n`, { mode: 0o755 })
  commit(worktree, '.gitattributes', 'hidden filter=rot\nplanted filter=planted\n')
  commit(worktree, 'hidden', 'uryyb\n')
  git(project.path, 'config', 'filter.rot.process', program)
  git(project.path, 'config', 'filter.planted.smudge', program)
  writeFileSync(join(projects.home, '.gitconfig'), '[filter "rot"]\n\tsmudge = tr a-z n-za-m\n')
  try {
    rmSync(ran, { force: true })
    expect((await card.merge()).merged).toBe(true)
    expect(readFileSync(join(project.path, 'hidden'), 'utf8')).toBe('hello\n')
    expect(existsSync(ran) ? readFileSync(ran, 'utf8') : 'nothing ran').toBe('nothing ran')
  } finally {
    rmSync(join(projects.home, '.gitconfig'), { force: true })
  }
})

test("a file that only the repository's own filter could produce is not merged into a checked-out branch", async () => {
  commit(project.path, '.gitattributes', 'planted filter=planted\n')
  commit(project.path, 'planted', 'first\n')
  const other = await project.card()
  const { worktreePath } = await other.start()
  git(project.path, 'config', 'filter.planted.smudge', 'touch ran; cat')
  commit(worktreePath!, 'planted', 'second\n')
  await expect(other.merge()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('filter') })
  expect(readFileSync(join(project.path, 'planted'), 'utf8')).toBe('first\n')
  expect(git(project.path, 'status', '--porcelain')).toBe('')
})
