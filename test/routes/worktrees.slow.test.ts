import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { commit, contents, dirty, git, gone, startWorktrees, type Worktrees } from '../support/agents/worktrees.ts'

let its: Worktrees
beforeAll(async () => {
  its = await startWorktrees()
})
afterAll(() => its.board.close())
beforeEach(() => its.fresh())

const files = (id = its.projectId) => its.board.request('GET', `/api/projects/${id}/files`)

/** Applies a patch to a new worktree at a commit and returns the folder. */
function apply(patch: string, at: string): string {
  const fresh = `${its.worktree}-fresh`
  git(its.repository, 'worktree', 'add', '-q', '--detach', fresh, at)
  git(fresh, 'am', '-q', '--keep-cr', '--patch-format=mboxrd', patch)
  return fresh
}

test('a card whose worktree has no unsaved work is deleted, and so is a card with a missing worktree', async () => {
  expect(await (await its.card()).remove()).toEqual(gone)
  const card = await its.card()
  rmSync(its.worktree, { recursive: true })
  expect(await card.remove()).toEqual(gone)
  expect(its.patches().length).toBe(0)
})

const changes: Array<[string, () => void]> = [
  ['a changed file', () => appendFileSync(join(its.worktree, 'README'), 'More.\n')],
  ['a changed file of the same size and second', () => writeFileSync(join(its.worktree, 'README'), 'Read it.\n')],
  ['a deleted file', () => rmSync(join(its.worktree, 'README'))],
  ['an executable file', () => chmodSync(join(its.worktree, 'README'), 0o755)],
  ['an untracked file', () => writeFileSync(join(its.worktree, 'new\nline'), 'new\n')],
  [
    'an untracked binary file',
    () => writeFileSync(join(its.worktree, 'binary'), Buffer.from([0, 1, 2, 0, 255, 13, 10])),
  ],
  [
    'a staged change that the file no longer has',
    () => {
      appendFileSync(join(its.worktree, 'README'), 'x\n')
      git(its.worktree, 'add', '.')
      writeFileSync(join(its.worktree, 'README'), 'Read me.\n')
    },
  ],
  [
    'a renamed file',
    () => {
      git(its.worktree, 'mv', 'README', 'LIESMICH')
    },
  ],
  [
    'a file that became a folder',
    () => {
      rmSync(join(its.worktree, 'README'))
      mkdirSync(join(its.worktree, 'README'))
      writeFileSync(join(its.worktree, 'README', 'inner'), 'x\n')
    },
  ],
  [
    'a folder that became a link',
    () => {
      rmSync(join(its.worktree, 'src'), { recursive: true })
      symlinkSync('/etc', join(its.worktree, 'src'))
    },
  ],
  ['an own commit', () => commit(its.worktree, 'own', 'mine\n')],
  [
    'a commit without a branch',
    () => {
      git(its.worktree, 'checkout', '-q', '--detach')
      commit(its.worktree, 'own', 'mine\n')
      git(its.worktree, 'branch', '-D', 'card')
    },
  ],
  [
    'own commits and a merge',
    () => {
      commit(its.worktree, 'own', 'mine\n')
      commit(its.repository, 'README', 'Changed on main.\n')
      git(its.worktree, 'merge', '-q', '--no-edit', 'main')
      commit(its.worktree, 'own', 'mine, again\nFrom here on\n', 'Say more\n\nFrom the start of a line')
    },
  ],
]
test.each(changes)(
  '%s is protected: it is rejected without force, and with it saved as a patch that restores it',
  async (_, change) => {
    const base = git(its.repository, 'rev-parse', 'main').trim()
    const card = await its.card()
    change()
    expect(await card.remove()).toEqual(dirty)
    const before = its.patches()
    const state = contents(its.worktree)
    expect(await card.remove(true)).toEqual(gone)
    expect(its.patches().filter(name => !before.includes(name))).toEqual([card.patchFile()])
    expect(statSync(card.patchFile()).mode & 0o777).toBe(0o600)
    expect(contents(apply(card.patchFile(), base))).toEqual(state)
  },
)

test.each<[string, string[], () => void]>([
  [
    'with a split index',
    [],
    () => {
      git(its.worktree, 'update-index', '--split-index')
      commit(its.worktree, 'more', 'x\n')
      git(its.worktree, 'reset', '-q', '--hard', 'main')
    },
  ],
  [
    'with a sparse checkout',
    [],
    () => {
      git(its.worktree, 'sparse-checkout', 'set', '--cone', '--sparse-index', 'nothing')
    },
  ],
  ['with SHA-256', ['--object-format=sha256'], () => {}],
  [
    'with line endings of another system',
    [],
    () => {
      git(its.repository, 'config', 'core.autocrlf', 'true')
      rmSync(join(its.worktree, 'README'))
      git(its.worktree, 'checkout', '-q', '--', 'README')
    },
  ],
  [
    'that is packed',
    [],
    () => {
      git(its.repository, 'gc', '-q')
      git(its.repository, 'pack-refs', '--all')
    },
  ],
])('a repository %s is read like any other', async (_, options, arrange) => {
  const repository = its.folder('special')
  const worktree = join(repository, '..', `${basename(repository)}-worktree`)
  git(repository, 'init', '-q', '-b', 'main', ...options)
  commit(repository, 'README', 'Read me.\n')
  git(repository, 'worktree', 'add', '-q', '-b', 'card', worktree)
  await its.use(repository, worktree)
  arrange()
  expect((await files()).body.data).toEqual(['README'])
  expect(await (await its.card()).remove()).toEqual(gone)
  const card = await its.card()
  appendFileSync(join(its.worktree, 'new'), 'new\n')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+new\n')
})

test('a worktree in the middle of a conflict, and a shallow clone, are saved also', async () => {
  commit(its.repository, 'README', 'Main.\n')
  commit(its.worktree, 'README', 'Card.\n')
  expect(() => git(its.worktree, 'merge', 'main')).toThrow('Command failed')
  const card = await its.card()
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+<<<<<<< HEAD')

  const shallow = its.folder('shallow')
  git(shallow, 'clone', '-q', '--depth', '1', `file://${its.repository}`, '.')
  const worktree = join(shallow, '..', `${basename(shallow)}-worktree`)
  git(shallow, 'worktree', 'add', '-q', '-b', 'own', worktree)
  await its.use(shallow, worktree)
  expect(await (await its.card()).remove()).toEqual(gone)
  const second = await its.card()
  commit(its.worktree, 'own', 'mine\n')
  expect(await second.remove()).toEqual(dirty)
  expect(await second.remove(true)).toEqual(gone)
  expect(second.patch()).toContain('+mine')
})

test('a pipe in place of a file does not block', async () => {
  const card = await its.card()
  rmSync(join(its.worktree, 'README'))
  execFileSync('mkfifo', [join(its.worktree, 'README'), join(its.worktree, 'pipe')])
  writeFileSync(join(its.worktree, 'kept'), 'kept\n')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+kept')
})

test('a commit on another branch, a remote or a tag is not lost work', async () => {
  commit(its.worktree, 'own', 'mine\n')
  expect(await (await its.card()).remove()).toEqual(dirty)
  for (const args of [
    ['branch', 'kept', 'card'],
    ['update-ref', 'refs/remotes/origin/card', 'card'],
    ['tag', '-m', 'x', 'kept', 'card'],
  ]) {
    const card = await its.card()
    git(its.repository, ...args)
    expect(await card.remove()).toEqual(gone)
    for (const name of ['refs/heads/kept', 'refs/remotes/origin/card', 'refs/tags/kept'])
      git(its.repository, 'update-ref', '-d', name)
  }
})

test('ignored files are not lost work', async () => {
  commit(its.repository, '.gitignore', 'node_modules\n')
  git(its.worktree, 'merge', '-q', 'main')
  const card = await its.card()
  mkdirSync(join(its.worktree, 'node_modules'))
  writeFileSync(join(its.worktree, 'node_modules', 'x'), '')
  mkdirSync(join(its.repository, '.git', 'info'), { recursive: true })
  writeFileSync(join(its.repository, '.git', 'info', 'exclude'), '*.tmp\n')
  writeFileSync(join(its.worktree, 'a.tmp'), '')
  expect(await card.remove()).toEqual(gone)
})

test('files in a repository inside the worktree are not lost work', async () => {
  const card = await its.card()
  const inner = join(its.worktree, 'inner')
  mkdirSync(inner)
  git(inner, 'init', '-q', '-b', 'main')
  commit(inner, 'committed', 'committed inside\n')
  writeFileSync(join(inner, 'loose'), 'loose inside\n')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+++ b/inner/committed')
  expect(card.patch()).toContain('+++ b/inner/loose')
})

test('a clean submodule is not lost work, and a changed one is', async () => {
  const library = its.folder('library')
  git(library, 'init', '-q', '-b', 'main')
  commit(library, 'lib', 'lib\n')
  git(its.repository, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib')
  git(its.repository, 'commit', '-q', '-m', 'Add lib')
  git(its.worktree, 'merge', '-q', 'main')
  git(its.worktree, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--init')
  expect(await (await its.card()).remove()).toEqual(gone)
  const card = await its.card()
  appendFileSync(join(its.worktree, 'lib', 'lib'), 'changed\n')
  expect(await card.remove()).toEqual(dirty)
  git(join(its.worktree, 'lib'), 'commit', '-q', '-a', '-m', 'Inside')
  git(its.worktree, 'add', 'lib')
  git(its.worktree, 'commit', '-q', '-m', 'Take it')
  git(its.repository, 'branch', 'kept', 'card')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+++ b/lib/lib')
})

test("only a worktree of the project's repository can be attached, and one at a time", async () => {
  const { board, projectId, repository, worktree } = its
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Card' })
  const path = `/api/projects/${projectId}/cards/${cardId}/worktree`
  const answer = async (method: string, body?: object) => {
    const { status, body: { error, data } = {} } = await board.request(method, path, { body })
    return error ? error.code : [status, data?.worktreePath, data?.gitBranch]
  }
  const second = its.folder('second')
  rmSync(second, { recursive: true })
  git(repository, 'worktree', 'add', '-q', '-b', 'second', second)
  symlinkSync(worktree, `${worktree}-link`)
  expect(await answer('DELETE')).toBe('CONFLICT')
  for (const [sent, code] of [
    ['here', 'PATH_NOT_ABSOLUTE'],
    [`${worktree}-none`, 'PATH_NOT_FOUND'],
    [join(worktree, 'README'), 'PATH_NOT_FOUND'],
    [its.folder('other'), 'NOT_A_GIT_REPOSITORY'],
  ])
    expect(await answer('PUT', { path: sent }), sent).toBe(code)
  expect(await answer('PUT', { path: `${worktree}-link` })).toEqual([200, worktree, 'card'])
  expect(await answer('PUT', { path: second })).toBe('CONFLICT')
  expect(await answer('PUT', { path: worktree })).toEqual([200, worktree, 'card'])
  expect(await answer('DELETE')).toEqual([204, undefined, undefined])
  expect(await board.client.cards.get({ projectId, cardId })).toMatchObject({ worktreePath: null, gitBranch: null })
  expect(await answer('PUT', { path: second })).toEqual([200, second, 'second'])
})
