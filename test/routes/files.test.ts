import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../helper.ts'

let board: TestBoard
let repository: string
let worktree: string
let projectId: string
let count = 0
beforeAll(async () => { board = await startBoard() })
afterAll(() => board.close())

const environment = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_AUTHOR_NAME: 'T', GIT_AUTHOR_EMAIL: 't@example.org', GIT_COMMITTER_NAME: 'T', GIT_COMMITTER_EMAIL: 't@example.org' }
const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, env: environment, stdio: ['ignore', 'pipe', 'ignore'] }).toString()
const commit = (cwd: string, file: string, text: string, message = `Change ${file}`) => {
  writeFileSync(join(cwd, file), text)
  git(cwd, 'add', file)
  git(cwd, 'commit', '-q', '-m', message)
}

/** A repository with a worktree on the branch `card` that holds nothing of its own. */
beforeEach(async () => {
  repository = board.folder(`repository-${++count}`)
  worktree = join(repository, '..', `worktree-${count}`)
  git(repository, 'init', '-q', '-b', 'main')
  mkdirSync(join(repository, 'src'))
  commit(repository, 'README', 'Read me.\n')
  commit(repository, 'src/ünïcode "name".txt', 'one\ntwo\n')
  git(repository, 'worktree', 'add', '-q', '-b', 'card', worktree)
  projectId = (await board.client.projects.create({ name: 'P', path: repository })).id
})

const files = (id = projectId) => board.request('GET', `/api/projects/${id}/files`)
const patches = () => existsSync(join(board.dataDir, 'patches')) ? readdirSync(join(board.dataDir, 'patches')) : []

/** A card with the worktree attached. */
async function attached(): Promise<{ remove(force?: boolean): Promise<{ status: number; code?: string }>; patch(): string; patchFile(): string }> {
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Card' })
  await board.client.cards.attachWorktree({ projectId, cardId, path: worktree })
  const patchFile = () => join(board.dataDir, 'patches', patches().find(name => name.includes(`-${cardId}-`))!)
  return {
    remove: async force => {
      const { status, body } = await board.request('DELETE', `/api/projects/${projectId}/cards/${cardId}${force ? '?force=true' : ''}`)
      return { status, code: body?.error.code }
    },
    patchFile, patch: () => readFileSync(patchFile(), 'utf8'),
  }
}
const dirty = { status: 409, code: 'WORKTREE_DIRTY' }
const gone = { status: 204, code: undefined }

/** Applies a patch to a new worktree at a commit and returns the folder. */
function apply(patch: string, at: string): string {
  const fresh = `${worktree}-fresh`
  git(repository, 'worktree', 'add', '-q', '--detach', fresh, at)
  git(fresh, 'am', '-q', '--keep-cr', '--patch-format=mboxrd', patch)
  return fresh
}

test('the tracked files are listed as they are named, below the project\'s folder, and the untracked ones are not', async () => {
  writeFileSync(join(repository, 'untracked'), '')
  expect((await files()).body).toEqual({ data: ['README', 'src/ünïcode "name".txt'] })
  const below = await board.client.projects.create({ name: 'Below', path: join(repository, 'src') })
  expect((await files(below.id)).body).toEqual({ data: ['ünïcode "name".txt'] })
})

test('a folder that is no repository, bare, broken or gone is 409 NOT_A_GIT_REPOSITORY', async () => {
  const plain = board.folder(`plain-${count}`)
  const { id } = await board.client.projects.create({ name: 'Plain', path: plain })
  const refused = async () => (await files(id)).body.error?.code
  expect(await refused()).toBe('NOT_A_GIT_REPOSITORY')
  writeFileSync(join(plain, '.git'), 'gitdir: /nowhere\n')
  expect(await refused()).toBe('NOT_A_GIT_REPOSITORY')
  rmSync(join(plain, '.git'))
  git(plain, 'init', '-q', '--bare', '.')
  expect(await refused()).toBe('NOT_A_GIT_REPOSITORY')
  rmSync(plain, { recursive: true })
  expect(await refused()).toBe('NOT_A_GIT_REPOSITORY')
})

test('variables of Git that the server was started with do not lead elsewhere', async () => {
  process.env.GIT_DIR = '/nowhere'
  try {
    expect((await files()).status).toBe(200)
  } finally {
    delete process.env.GIT_DIR
  }
})

test('a card whose worktree holds nothing of its own is deleted, and so is one whose worktree is gone', async () => {
  expect(await (await attached()).remove()).toEqual(gone)
  const card = await attached()
  rmSync(worktree, { recursive: true })
  expect(await card.remove()).toEqual(gone)
  expect(patches().length).toBe(0)
})

const changes: Array<[string, () => void]> = [
  ['a changed file', () => appendFileSync(join(worktree, 'README'), 'More.\n')],
  ['a changed file of the same size and second', () => writeFileSync(join(worktree, 'README'), 'Read it.\n')],
  ['a deleted file', () => rmSync(join(worktree, 'README'))],
  ['an executable file', () => chmodSync(join(worktree, 'README'), 0o755)],
  ['an untracked file', () => writeFileSync(join(worktree, 'new\nline'), 'new\n')],
  ['an untracked binary file', () => writeFileSync(join(worktree, 'binary'), Buffer.from([0, 1, 2, 0, 255, 13, 10]))],
  ['a staged change that the file no longer has', () => { appendFileSync(join(worktree, 'README'), 'x\n'); git(worktree, 'add', '.'); writeFileSync(join(worktree, 'README'), 'Read me.\n') }],
  ['a renamed file', () => { git(worktree, 'mv', 'README', 'LIESMICH') }],
  ['a file that became a folder', () => { rmSync(join(worktree, 'README')); mkdirSync(join(worktree, 'README')); writeFileSync(join(worktree, 'README', 'inner'), 'x\n') }],
  ['a folder that became a link', () => { rmSync(join(worktree, 'src'), { recursive: true }); symlinkSync('/etc', join(worktree, 'src')) }],
  ['a commit of its own', () => commit(worktree, 'own', 'mine\n')],
  ['a commit that no branch holds', () => { git(worktree, 'checkout', '-q', '--detach'); commit(worktree, 'own', 'mine\n'); git(worktree, 'branch', '-D', 'card') }],
  ['commits of its own and a merge', () => {
    commit(worktree, 'own', 'mine\n')
    commit(repository, 'README', 'Changed on main.\n')
    git(worktree, 'merge', '-q', '--no-edit', 'main')
    commit(worktree, 'own', 'mine, again\nFrom here on\n', 'Say more\n\nFrom the start of a line')
  }],
]
test.each(changes)('%s is not lost: it is refused without force, and with it saved as a patch that brings it back', async (_, change) => {
  const base = git(repository, 'rev-parse', 'main').trim()
  const card = await attached()
  change()
  expect(await card.remove()).toEqual(dirty)
  const before = patches()
  const state = contents(worktree)
  expect(await card.remove(true)).toEqual(gone)
  expect(patches().filter(name => !before.includes(name)).map(name => join(board.dataDir, 'patches', name))).toEqual([card.patchFile()])
  expect(statSync(card.patchFile()).mode & 0o777).toBe(0o600)
  expect(contents(apply(card.patchFile(), base))).toEqual(state)
})

test.each<[string, string[], () => void]>([
  ['with a split index', [], () => { git(worktree, 'update-index', '--split-index'); commit(worktree, 'more', 'x\n'); git(worktree, 'reset', '-q', '--hard', 'main') }],
  ['with a sparse checkout', [], () => { git(worktree, 'sparse-checkout', 'set', '--cone', '--sparse-index', 'nothing') }],
  ['with SHA-256', ['--object-format=sha256'], () => {}],
  ['with line ends of another system', [], () => { git(repository, 'config', 'core.autocrlf', 'true'); rmSync(join(worktree, 'README')); git(worktree, 'checkout', '-q', '--', 'README') }],
  ['that is packed', [], () => { git(repository, 'gc', '-q'); git(repository, 'pack-refs', '--all') }],
])('a repository %s is read like any other', async (_, options, arrange) => {
  repository = board.folder(`special-${++count}`)
  worktree = join(repository, '..', `special-worktree-${count}`)
  git(repository, 'init', '-q', '-b', 'main', ...options)
  commit(repository, 'README', 'Read me.\n')
  git(repository, 'worktree', 'add', '-q', '-b', 'card', worktree)
  arrange()
  projectId = (await board.client.projects.create({ name: 'P', path: repository })).id
  expect((await files()).body.data).toEqual(['README'])
  expect(await (await attached()).remove()).toEqual(gone)
  const card = await attached()
  appendFileSync(join(worktree, 'new'), 'new\n')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+new\n')
})

test('a worktree in the middle of a conflict, and a shallow clone, are saved too', async () => {
  commit(repository, 'README', 'Main.\n')
  commit(worktree, 'README', 'Card.\n')
  expect(() => git(worktree, 'merge', 'main')).toThrow()
  const card = await attached()
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+<<<<<<< HEAD')

  const shallow = board.folder(`shallow-${count}`)
  git(shallow, 'clone', '-q', '--depth', '1', `file://${repository}`, '.')
  git(shallow, 'worktree', 'add', '-q', '-b', 'own', join(shallow, '..', `shallow-worktree-${count}`))
  projectId = (await board.client.projects.create({ name: 'P', path: shallow })).id
  worktree = join(shallow, '..', `shallow-worktree-${count}`)
  expect(await (await attached()).remove()).toEqual(gone)
  const second = await attached()
  commit(worktree, 'own', 'mine\n')
  expect(await second.remove()).toEqual(dirty)
  expect(await second.remove(true)).toEqual(gone)
  expect(second.patch()).toContain('+mine')
})

test('a pipe in the place of a file does not hang anything', async () => {
  const card = await attached()
  rmSync(join(worktree, 'README'))
  execFileSync('mkfifo', [join(worktree, 'README'), join(worktree, 'pipe')])
  writeFileSync(join(worktree, 'kept'), 'kept\n')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+kept')
})

test('a commit that another branch, a remote or a tag holds is no loss', async () => {
  commit(worktree, 'own', 'mine\n')
  expect(await (await attached()).remove()).toEqual(dirty)
  for (const args of [['branch', 'kept', 'card'], ['update-ref', 'refs/remotes/origin/card', 'card'], ['tag', '-m', 'x', 'kept', 'card']]) {
    const card = await attached()
    git(repository, ...args)
    expect(await card.remove()).toEqual(gone)
    for (const name of ['refs/heads/kept', 'refs/remotes/origin/card', 'refs/tags/kept']) git(repository, 'update-ref', '-d', name)
  }
})

test('ignored files are no loss', async () => {
  commit(repository, '.gitignore', 'node_modules\n')
  git(worktree, 'merge', '-q', 'main')
  const card = await attached()
  mkdirSync(join(worktree, 'node_modules'))
  writeFileSync(join(worktree, 'node_modules', 'x'), '')
  mkdirSync(join(repository, '.git', 'info'), { recursive: true })
  writeFileSync(join(repository, '.git', 'info', 'exclude'), '*.tmp\n')
  writeFileSync(join(worktree, 'a.tmp'), '')
  expect(await card.remove()).toEqual(gone)
})

test('what lies in a repository inside of the worktree is not lost either', async () => {
  const card = await attached()
  const inner = join(worktree, 'inner')
  mkdirSync(inner)
  git(inner, 'init', '-q', '-b', 'main')
  commit(inner, 'committed', 'committed inside\n')
  writeFileSync(join(inner, 'loose'), 'loose inside\n')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+++ b/inner/committed')
  expect(card.patch()).toContain('+++ b/inner/loose')
})

test('a submodule is looked into: clean it is no loss, changed it is', async () => {
  const library = board.folder(`library-${count}`)
  git(library, 'init', '-q', '-b', 'main')
  commit(library, 'lib', 'lib\n')
  git(repository, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib')
  git(repository, 'commit', '-q', '-m', 'Add lib')
  git(worktree, 'merge', '-q', 'main')
  git(worktree, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'update', '--init')
  expect(await (await attached()).remove()).toEqual(gone)
  const card = await attached()
  appendFileSync(join(worktree, 'lib', 'lib'), 'changed\n')
  expect(await card.remove()).toEqual(dirty)
  git(join(worktree, 'lib'), 'commit', '-q', '-a', '-m', 'Inside')
  git(worktree, 'add', 'lib')
  git(worktree, 'commit', '-q', '-m', 'Take it')
  git(repository, 'branch', 'kept', 'card')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+++ b/lib/lib')
})

test('a worktree whose .git was removed or bent is not believed', async () => {
  const card = await attached()
  const held = readFileSync(join(worktree, '.git'), 'utf8')
  rmSync(join(worktree, '.git'))
  expect(await card.remove()).toEqual(dirty)
  writeFileSync(join(worktree, '.git'), 'gitdir: /nowhere\n')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+++ b/README')
  writeFileSync(join(worktree, '.git'), held)
})

test('a worktree replaced by a link is neither clean nor read', async () => {
  const card = await attached()
  renameSync(worktree, `${worktree}-away`)
  symlinkSync('/etc', worktree)
  expect(await card.remove()).toEqual(dirty)
  expect((await card.remove(true)).status).toBe(409)
  rmSync(worktree)
})

test('programs that a worktree or its repository plants are never run', async () => {
  const sentinel = join(board.folder(`sentinel-${count}`), 'ran')
  const program = join(worktree, 'program.sh')
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${sentinel}'\ncat\n`, { mode: 0o755 })
  writeFileSync(join(worktree, '.gitattributes'), '* filter=evil diff=evil text\n')
  const plant = (...settings: Array<[string, string]>) => { for (const [name, value] of settings) git(repository, 'config', name, value) }
  plant(['filter.evil.clean', program], ['filter.evil.smudge', program], ['filter.evil.process', program], ['diff.evil.command', program], ['diff.evil.textconv', program], ['diff.external', program], ['core.fsmonitor', program],
    ['core.pager', program], ['core.sshCommand', program], ['core.editor', program], ['core.alternateRefsCommand', program], ['gpg.program', program], ['log.showSignature', 'true'], ['credential.helper', `!${program}`], ['interactive.diffFilter', program],
    ['extensions.partialClone', 'evil'], ['remote.evil.url', `ext::${program}`], ['remote.evil.promisor', 'true'], ['remote.evil.uploadpack', program], ['protocol.ext.allow', 'always'], ['core.hooksPath', join(worktree, 'hooks')], ['core.askPass', program])
  mkdirSync(join(worktree, 'hooks'))
  for (const hook of ['post-index-change', 'reference-transaction', 'post-checkout', 'fsmonitor-watchman', 'pre-auto-gc']) copyFileSync(program, join(worktree, 'hooks', hook))
  appendFileSync(join(worktree, 'README'), 'changed\n')
  expect((await files()).body.data).toContain('README')
  const card = await attached()
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+changed')
  expect(existsSync(sentinel) ? readFileSync(sentinel, 'utf8') : 'nothing ran').toBe('nothing ran')
  // The bait is live: git itself takes it.
  execFileSync('git', ['status'], { cwd: worktree, env: environment, stdio: 'ignore' })
  expect(existsSync(sentinel)).toBe(true)
})

test('reading changes nothing in the repository', async () => {
  const card = await attached()
  appendFileSync(join(worktree, 'README'), 'More.\n')
  const before = contents(join(repository, '.git'))
  await files()
  await card.remove()
  await card.remove(true)
  expect(contents(join(repository, '.git'))).toEqual(before)
})

test('a worktree of another repository, a folder inside of one, and a plain folder cannot be attached', async () => {
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Card' })
  const attach = async (path: string) => (await board.request('PUT', `/api/projects/${projectId}/cards/${cardId}/worktree`, { body: { path } })).body.error?.code
  const other = board.folder(`other-${count}`)
  git(other, 'init', '-q', '-b', 'main')
  commit(other, 'a', 'a\n')
  const copied = board.folder(`copied-${count}`)
  copyFileSync(join(worktree, '.git'), join(copied, '.git'))
  for (const path of [other, join(worktree, 'src'), copied, board.folder(`empty-${count}`)]) expect(await attach(path), path).toBe('NOT_A_GIT_REPOSITORY')
  expect(await attach(worktree)).toBe(undefined)
})

/** Every file below a folder with its content, or where a link leads. */
function contents(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => !entry.isDirectory()).map((entry): [string, string] => {
    const path = join(entry.parentPath, entry.name)
    return [path.slice(folder.length + 1), entry.isSymbolicLink() ? `link to ${realpathSync(path)}` : `${(statSync(path).mode & 0o111) ? 'executable ' : ''}${readFileSync(path, 'latin1')}`]
  })
  return Object.fromEntries(entries.filter(([path]) => path !== '.git'))
}
