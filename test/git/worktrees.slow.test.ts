import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { slugOf } from '../../src/worktrees/planWorktree.ts'
import { removeDeleted } from '../../src/cardWork/removeWorktree.ts'
import { listPurgeable, purgeCards } from '../../src/store/cards/cardLeftovers.ts'
import { listDeletedWithWorktree } from '../../src/store/cards/cards.ts'
import { commit, git, useProjects, write, type TestProject } from './cards.ts'

const projects = useProjects()
let project: TestProject
let count = 0
beforeEach(async () => {
  count++
  project = await projects.project()
})

const conflict = (message: RegExp) => ({ code: 'CONFLICT', message: expect.stringMatching(message) })

test("the first start creates a worktree below the data folder, from the project's current commit, and records it on the card", async () => {
  commit(project.path, 'src/a', 'a\n')
  const card = await project.card()
  const place = await card.start()
  const base = git(project.path, 'rev-parse', 'HEAD')
  expect(place).toEqual({
    cwd: place.worktreePath,
    worktreePath: join(project.dataDir, 'worktrees', String((await card.row()).projectId), String(card.id)),
    isManaged: true,
    branch: `board/${card.id}-fix-the-door`,
    baseCommit: base,
  })
  expect(readFileSync(join(place.cwd, 'src/a'), 'utf8')).toBe('a\n')
  expect(git(place.cwd, 'symbolic-ref', '--short', 'HEAD')).toBe(place.branch)
  expect(await card.row()).toMatchObject({
    worktreePath: place.worktreePath,
    worktreeManaged: 1,
    gitBranch: place.branch,
    baseCommit: base,
  })
  expect(statSync(join(project.dataDir, 'worktrees')).mode & 0o77).toBe(0)
  expect(git(project.path, 'status', '--porcelain')).toBe('')
  expect(git(project.path, 'symbolic-ref', '--short', 'HEAD')).toBe('main')
})

test('a later start finds the worktree unchanged, and the base commit stays', async () => {
  const card = await project.card()
  const first = await card.start()
  write(first.cwd, 'loose', 'loose\n')
  commit(project.path, 'later', 'later\n')
  await card.set({ title: 'Another title' })
  const { version } = await card.row()
  expect(await card.start()).toEqual(first)
  expect(readFileSync(join(first.cwd, 'loose'), 'utf8')).toBe('loose\n')
  expect((await card.row()).version).toBe(version)
})

test.each<[string, (path: string, branch: string) => void]>([
  ['was deleted', path => rmSync(path, { recursive: true })],
  [
    'was emptied',
    path => {
      rmSync(path, { recursive: true })
      mkdirSync(path)
    },
  ],
  [
    'was deleted and pruned',
    path => {
      rmSync(path, { recursive: true })
      git(project.path, 'worktree', 'prune')
    },
  ],
  [
    'was deleted while locked',
    path => {
      git(project.path, 'worktree', 'lock', path)
      rmSync(path, { recursive: true })
    },
  ],
  ['lost its connection to the repository', path => rmSync(join(path, '.git'))],
  [
    'was replaced by a file',
    path => {
      rmSync(path, { recursive: true })
      writeFileSync(path, 'x')
    },
  ],
  [
    'was replaced by a link',
    path => {
      rmSync(path, { recursive: true })
      symlinkSync('/etc', path)
    },
  ],
  [
    'was interrupted during its creation',
    path => {
      renameSync(path, `${path}.unfinished`)
      writeFileSync(join(`${path}.unfinished`, 'half'), 'x')
    },
  ],
])('a worktree that %s is recreated from its branch', async (_, spoil) => {
  const card = await project.card()
  const first = await card.start()
  const tip = commit(first.cwd, 'work', 'work\n')
  spoil(first.worktreePath!, first.branch!)
  expect(await card.start()).toEqual(first)
  expect(git(first.cwd, 'rev-parse', 'HEAD')).toBe(tip)
  expect(git(first.cwd, 'symbolic-ref', '--short', 'HEAD')).toBe(first.branch)
  expect(git(first.cwd, 'status', '--porcelain')).toBe('')
  expect(existsSync(`${first.worktreePath}.unfinished`)).toBe(false)
})

test('files in a folder that is no longer a worktree are moved aside, not deleted', async () => {
  const card = await project.card()
  const { worktreePath } = await card.start()
  write(worktreePath!, 'loose', 'loose\n')
  rmSync(join(worktreePath!, '.git'))
  await card.start()
  const aside = readdirSync(join(worktreePath!, '..')).find(name => name.startsWith(`${card.id}.aside-`))!
  expect(readFileSync(join(worktreePath!, '..', aside, 'loose'), 'utf8')).toBe('loose\n')
})

test('a worktree is reconnected to a project that moved, and keeps uncommitted changes', async () => {
  const card = await project.card()
  const first = await card.start()
  write(first.cwd, 'loose', 'loose\n')
  renameSync(project.path, `${project.path}-moved`)
  await project.set({ path: `${project.path}-moved` })
  expect(await card.start()).toEqual(first)
  expect(git(first.cwd, 'status', '--porcelain')).toBe('?? loose')
})

test.each<[string, (moved: string) => object]>([
  ['to another data folder', moved => ({ dataDir: moved })],
  ['behind a link', moved => (symlinkSync(moved, `${moved}-link`), { dataDir: `${moved}-link` })],
])('a worktree that moved %s is reconnected, and keeps uncommitted changes', async (_, serverAt) => {
  const card = await project.card()
  const others = await project.card()
  const { dataDir } = project
  const [first, other] = [await card.start(), await others.start()]
  write(first.cwd, 'loose', 'loose\n')
  const moved = `${dataDir}-moved-${card.id}`
  renameSync(dataDir, moved)
  try {
    const again = await card.start(serverAt(moved))
    expect(again).toMatchObject({ branch: first.branch, baseCommit: first.baseCommit })
    expect(again.worktreePath).not.toBe(first.worktreePath)
    expect(git(again.cwd, 'status', '--porcelain', '--branch')).toBe(`## ${first.branch}\n?? loose`)
    expect((await card.diff()).diff).toContain('+loose')
    expect(readdirSync(dirname(again.worktreePath!)).filter(name => name.includes('aside'))).toEqual([])
    expect(git(project.path, 'worktree', 'list')).toContain(other.worktreePath!)
  } finally {
    renameSync(moved, dataDir)
  }
})

test('a worktree keeps uncommitted changes if the link to its data folder leads elsewhere', async () => {
  const card = await project.card()
  const link = `${project.dataDir}-linked-${card.id}`
  const [one, two] = [`${link}-one`, `${link}-two`]
  mkdirSync(one)
  symlinkSync(one, link)
  const first = await card.start({ dataDir: link })
  write(first.cwd, 'loose', 'loose\n')
  renameSync(one, two)
  unlinkSync(link)
  symlinkSync(two, link)
  expect(await card.start({ dataDir: link })).toEqual(first)
  expect(git(first.cwd, 'status', '--porcelain')).toBe('?? loose')
})

test('a card whose branch and worktree were both deleted starts again from its base commit', async () => {
  const card = await project.card()
  const first = await card.start()
  git(project.path, 'worktree', 'remove', first.worktreePath!)
  git(project.path, 'branch', '-D', first.branch!)
  commit(project.path, 'later', 'later\n')
  expect(await card.start()).toEqual(first)
  expect(git(first.cwd, 'rev-parse', 'HEAD')).toBe(first.baseCommit)
})

test("a card whose base commit and branch were deleted starts from the project's current commit, and keeps that as its base", async () => {
  const card = await project.card({
    worktreeManaged: true,
    gitBranch: 'board/gone',
    worktreePath: join(projects.folder, 'gone'),
    baseCommit: 'f'.repeat(40),
  })
  const { cwd, baseCommit } = await card.start()
  expect([baseCommit, git(cwd, 'rev-parse', 'HEAD'), git(cwd, 'branch', '--show-current')]).toEqual([
    git(project.path, 'rev-parse', 'main'),
    baseCommit,
    'board/gone',
  ])
  expect(await card.row()).toMatchObject({ baseCommit, gitBranch: 'board/gone' })
})

test('a branch that is checked out elsewhere is reported, and no changes are lost', async () => {
  const card = await project.card()
  const { worktreePath, branch } = await card.start()
  rmSync(worktreePath!, { recursive: true })
  git(project.path, 'worktree', 'prune')
  git(project.path, 'checkout', '-q', branch!)
  await expect(card.start()).rejects.toMatchObject(conflict(/checked out in another worktree/))
  git(project.path, 'checkout', '-q', 'main')
  expect((await card.start()).branch).toBe(branch)
})

test('if a name is taken by a branch, or blocked by one, another one is used', async () => {
  const [one, other] = [await project.card(), await project.card()]
  git(project.path, 'branch', `board/${one.id}-fix-the-door`)
  expect((await one.start()).branch).toBe(`board/${one.id}-fix-the-door-2`)
  rmSync((await one.row()).worktreePath!, { recursive: true })
  git(project.path, 'worktree', 'prune')
  git(project.path, 'branch', '-D', `board/${one.id}-fix-the-door`, `board/${one.id}-fix-the-door-2`)
  git(project.path, 'branch', 'board')
  expect((await other.start()).branch).toBe(`board-${other.id}-fix-the-door`)
})

test.each([
  ['--output=/tmp/x', 'output-tmp-x'],
  ['🎉🎉', 'card'],
  ['', 'card'],
  ['../../etc/passwd', 'etc-passwd'],
  ['$(reboot); `id` && "x"', 'reboot-id-x'],
  ['Größe ändern', 'gro-e-andern'],
  ['a\n\0b.lock', 'a-b-lock'],
  ['@{-1}', '1'],
  ['-'.repeat(80), 'card'],
  [`${'x'.repeat(39)} ${'y'.repeat(99)}`, 'x'.repeat(39)],
])('the title %j becomes the plain name %s', async (title, slug) => {
  expect(slugOf(title)).toBe(slug)
  const card = await project.card({ title: title.replaceAll('\0', '') })
  const { branch, cwd } = await card.start()
  expect(git(cwd, 'symbolic-ref', '--short', 'HEAD')).toBe(branch)
  expect(branch).toMatch(new RegExp(`^board/${card.id}-[a-z0-9-]+$`))
})

test('a project with a detached HEAD can start like any other; one without a commit cannot', async () => {
  git(project.path, 'checkout', '-q', '--detach')
  expect((await (await project.card()).start()).baseCommit).toBe(git(project.path, 'rev-parse', 'HEAD'))
  git(project.path, 'checkout', '-q', '--orphan', 'fresh')
  await expect((await project.card()).start()).rejects.toMatchObject(conflict(/no commits yet/))
  expect((await (await project.card({ useWorktree: false })).start()).cwd).toBe(project.path)
})

test('a project in a subfolder of its repository works in the same subfolder of the worktree', async () => {
  commit(project.path, 'packages/app/main', 'x\n')
  await project.set({ path: join(project.path, 'packages/app') })
  const { cwd, worktreePath } = await (await project.card()).start()
  expect(cwd).toBe(join(worktreePath!, 'packages/app'))
  expect(readdirSync(cwd)).toEqual(['main'])
})

test("a subfolder that the branch does not have is created empty, as the agent's working folder", async () => {
  const path = join(project.path, 'packages/new')
  mkdirSync(path, { recursive: true })
  await project.set({ path })
  const { cwd, worktreePath } = await (await project.card()).start()
  expect(cwd).toBe(join(worktreePath!, 'packages/new'))
  expect(readdirSync(cwd)).toEqual([])
})

test("without a worktree, and without a repository, a card works in the project's folder", async () => {
  const card = await project.card({ useWorktree: false })
  expect(await card.start()).toEqual({
    cwd: project.path,
    worktreePath: null,
    isManaged: false,
    branch: 'main',
    baseCommit: git(project.path, 'rev-parse', 'HEAD'),
  })
  expect(await card.row()).toMatchObject({
    worktreePath: null,
    gitBranch: null,
    baseCommit: git(project.path, 'rev-parse', 'HEAD'),
  })
  const withoutGit = await projects.project(`without-git-${++count}`)
  rmSync(join(withoutGit.path, '.git'), { recursive: true })
  expect(await (await withoutGit.card()).start()).toEqual({
    cwd: withoutGit.path,
    worktreePath: null,
    isManaged: false,
    branch: null,
    baseCommit: null,
  })
})

test('an attached worktree is used unchanged; its work counts from where it diverged from the project', async () => {
  const own = `${project.path}-own`
  git(project.path, 'worktree', 'add', '-q', '-b', 'mine', own)
  const parting = git(project.path, 'rev-parse', 'HEAD')
  commit(own, 'mine', 'mine\n')
  commit(project.path, 'later', 'later\n')
  const card = await project.card({ worktreePath: own, worktreeManaged: false, gitBranch: 'mine' })
  expect(await card.start()).toEqual({
    cwd: own,
    worktreePath: own,
    isManaged: false,
    branch: 'mine',
    baseCommit: parting,
  })
  rmSync(own, { recursive: true })
  await expect(card.start()).rejects.toMatchObject(conflict(/attached worktree no longer exists/))
})

test("creating a worktree runs no hook, no monitor and no filter of the repository; the account's own filters run", async () => {
  const ran = join(projects.folder, `ran-${count}`)
  const program = join(projects.folder, `program-${count}`)
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${ran}'\n`, { mode: 0o755 })
  commit(
    project.path,
    '.gitattributes',
    'hidden filter=rot\nplanted filter=planted\nserved filter=served\nincluded filter=included\n',
  )
  for (const name of ['hidden', 'planted', 'served', 'included']) commit(project.path, name, 'uryyb\n')
  mkdirSync(join(project.path, '.git/hooks'), { recursive: true })
  for (const hook of ['post-checkout', 'post-index-change', 'reference-transaction', 'post-commit', 'pre-commit'])
    symlinkSync(program, join(project.path, '.git/hooks', hook))
  git(project.path, 'config', 'core.fsmonitor', program)
  const included = join(projects.folder, `included-${count}`)
  git(project.path, 'config', '--file', included, 'filter.included.smudge', program)
  git(project.path, 'config', `includeIf.gitdir:${project.path}/.path`, included)
  git(project.path, 'config', 'extensions.worktreeConfig', 'true')
  git(project.path, 'config', '--worktree', 'filter.planted.process', program)
  git(project.path, 'config', 'filter.planted.smudge', program)
  git(project.path, 'config', 'filter.planted.required', 'true')
  // Programs that the account configures run as configured there, even if the repository configures others under their names.
  git(project.path, 'config', 'filter.rot.process', program)
  git(project.path, 'config', 'filter.served.smudge', program)
  git(project.path, 'config', 'core.hooksPath', join(project.path, '.git/hooks'))
  git(project.path, 'config', 'lfs.extension.evil.smudge', program)
  writeFileSync(
    join(projects.home, '.gitconfig'),
    '[filter "rot"]\n\tsmudge = tr a-z n-za-m\n[filter "served"]\n\tsmudge = tr a-z n-za-m\n\trequired = true\n',
  )
  rmSync(ran, { force: true })
  const { cwd } = await (await project.card()).start().finally(() => rmSync(join(projects.home, '.gitconfig')))
  expect(existsSync(ran) ? readFileSync(ran, 'utf8') : 'nothing ran').toBe('nothing ran')
  const read = (name: string) => readFileSync(join(cwd, name), 'utf8')
  expect(['hidden', 'served', 'planted', 'included'].map(read)).toEqual(['hello\n', 'hello\n', 'uryyb\n', 'uryyb\n'])
  // The bait works: Git runs it.
  expect(() => git(project.path, 'worktree', 'add', '-q', '--detach', `${project.path}-own`)).toThrow()
  expect(existsSync(ran)).toBe(true)
})

test('twenty cards of one project start concurrently', async () => {
  const cards = await Promise.all(Array.from({ length: 20 }, () => project.card()))
  const places = await Promise.all(cards.map(card => card.start()))
  expect(new Set(places.map(({ cwd }) => cwd)).size).toBe(20)
  for (const { cwd, branch } of places) expect(git(cwd, 'symbolic-ref', '--short', 'HEAD')).toBe(branch)
})

test('a worktree is deleted only if no work is lost; with force a patch is saved first; its branch is kept unless another branch contains its work', async () => {
  const card = await project.card()
  const { worktreePath, branch } = await card.start()
  commit(worktreePath!, 'work', 'work\n')
  await expect(card.remove()).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
  expect(existsSync(worktreePath!)).toBe(true)
  await card.remove(true)
  expect(existsSync(worktreePath!)).toBe(false)
  expect(readdirSync(join(project.dataDir, 'patches')).some(name => name.includes(`-${card.id}-`))).toBe(true)
  expect(git(project.path, 'worktree', 'list').split('\n').length).toBe(1)
  expect(git(project.path, 'rev-parse', '--verify', branch!)).toMatch(/^[0-9a-f]{40}$/)
  expect(await card.row()).toMatchObject({ worktreePath: null, gitBranch: branch })
  expect((await card.start()).branch).toBe(branch)
  expect(readFileSync(join(worktreePath!, 'work'), 'utf8')).toBe('work\n')

  git(project.path, 'merge', '-q', '--no-edit', branch!)
  await card.remove()
  expect(() => git(project.path, 'rev-parse', '--verify', branch!)).toThrow(/single revision/)
  expect(await card.row()).toMatchObject({ worktreePath: null, gitBranch: null, worktreeManaged: 0 })
  await card.remove()
  expect((await card.start()).baseCommit).toBe(git(project.path, 'rev-parse', 'HEAD'))
})

test('a worktree with read-only folders is deleted also, and an attached one never is', async () => {
  const card = await project.card()
  const { worktreePath } = await card.start()
  git(project.path, 'config', 'core.excludesFile', join(project.path, '.git/ignored'))
  write(project.path, '.git/info/exclude', 'cache\n')
  write(worktreePath!, 'cache/deep/file', 'x')
  chmodSync(join(worktreePath!, 'cache/deep'), 0o500)
  chmodSync(join(worktreePath!, 'cache'), 0o500)
  await card.remove()
  expect(existsSync(worktreePath!)).toBe(false)

  const own = `${project.path}-own`
  git(project.path, 'worktree', 'add', '-q', '-b', 'mine', own)
  const attached = await project.card({ worktreePath: own, worktreeManaged: false, gitBranch: 'mine' })
  await attached.remove(true)
  expect(existsSync(join(own, 'README'))).toBe(true)
})

test('the worktree of a card that was deleted long ago is removed with a patch, and then the card; a worktree that cannot be removed keeps its card', async () => {
  const [card, stuck] = [await project.card(), await project.card()]
  const { worktreePath } = await card.start()
  write(worktreePath!, 'loose', 'loose\n')
  await stuck.start()
  for (const each of [card, stuck]) await each.set({ deletedAt: '2026-01-01T00:00:00.000Z' })
  const { db } = projects
  const path = (await listDeletedWithWorktree(db, '2026-02-01')).find(({ id }) => id === stuck.id)!.worktreePath!
  rmSync(path, { recursive: true })
  writeFileSync(path, 'no folder')
  await expect(removeDeleted(projects.worktrees, db, '2026-02-01', project.dataDir, async () => {})).rejects.toThrow(
    AggregateError,
  )
  expect(existsSync(worktreePath!)).toBe(false)
  expect(readdirSync(join(project.dataDir, 'patches')).some(name => name.includes(`-${card.id}-`))).toBe(true)
  const purgeable = await listPurgeable(db, '2026-02-01', 100)
  expect(purgeable).toEqual([card.id])
  await db.transaction(tx => purgeCards(tx, purgeable))
  expect((await listDeletedWithWorktree(db, '2026-02-01')).map(({ id }) => id)).toEqual([stuck.id])
})
