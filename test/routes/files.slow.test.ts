import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  commit,
  contents,
  dirty,
  git,
  gitEnvironment,
  gone,
  startWorktrees,
  type Worktrees,
} from '../support/agents/worktrees.ts'

let its: Worktrees
beforeAll(async () => {
  its = await startWorktrees()
})
afterAll(() => its.board.close())
beforeEach(() => its.fresh())

const files = (id = its.projectId) => its.board.request('GET', `/api/projects/${id}/files`)

test("lists tracked files verbatim and relative to the project's folder, without the untracked files", async () => {
  writeFileSync(join(its.repository, 'untracked'), '')
  expect((await files()).body).toEqual({ data: ['README', 'src/ünïcode "name".txt'] })
  const below = await its.board.client.projects.create({ name: 'Below', path: join(its.repository, 'src') })
  expect((await files(below.id)).body).toEqual({ data: ['ünïcode "name".txt'] })
})

test('a folder without a repository, with a broken or a new one, or a missing folder returns 409', async () => {
  const plain = its.folder('plain')
  const { id } = await its.board.client.projects.create({ name: 'Plain', path: plain })
  const refused = async () => (await files(id)).body.error?.code
  expect(await refused()).toBe('NOT_A_GIT_REPOSITORY')
  writeFileSync(join(plain, '.git'), 'gitdir: /nowhere\n')
  expect(await refused()).toBe('CONFLICT')
  rmSync(join(plain, '.git'))
  git(plain, 'init', '-q', '--bare', '.')
  expect(await refused()).toBe('CONFLICT')
  rmSync(plain, { recursive: true })
  expect(await refused()).toBe('NOT_A_GIT_REPOSITORY')
})

test("Git variables in the server's environment have no effect", async () => {
  process.env.GIT_DIR = '/nowhere'
  try {
    expect((await files()).status).toBe(200)
  } finally {
    delete process.env.GIT_DIR
  }
})

test('a worktree of another repository, a folder inside of one, and a plain folder cannot be attached', async () => {
  const { id: cardId } = await its.board.client.cards.create({ projectId: its.projectId, title: 'Card' })
  const attach = async (path: string) =>
    (await its.board.request('PUT', `/api/projects/${its.projectId}/cards/${cardId}/worktree`, { body: { path } })).body
      .error?.code
  const other = its.folder('other')
  git(other, 'init', '-q', '-b', 'main')
  commit(other, 'a', 'a\n')
  const copied = its.folder('copied')
  copyFileSync(join(its.worktree, '.git'), join(copied, '.git'))
  for (const path of [other, join(its.worktree, 'src'), copied, its.folder('empty')])
    expect(await attach(path), path).toBe('NOT_A_GIT_REPOSITORY')
  expect(await attach(its.worktree)).toBe(undefined)
})

test('a worktree whose .git was removed or changed is not trusted', async () => {
  const card = await its.card()
  const held = readFileSync(join(its.worktree, '.git'), 'utf8')
  rmSync(join(its.worktree, '.git'))
  expect(await card.remove()).toEqual(dirty)
  writeFileSync(join(its.worktree, '.git'), 'gitdir: /nowhere\n')
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+++ b/README')
  writeFileSync(join(its.worktree, '.git'), held)
})

test('a worktree replaced by a link is neither clean nor read', async () => {
  const card = await its.card()
  renameSync(its.worktree, `${its.worktree}-away`)
  symlinkSync('/etc', its.worktree)
  expect(await card.remove()).toEqual(dirty)
  expect((await card.remove(true)).status).toBe(409)
  rmSync(its.worktree)
})

test('planted programs of a worktree or its repository never run', async () => {
  const sentinel = join(its.folder('sentinel'), 'ran')
  const program = join(its.worktree, 'program.sh')
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${sentinel}'\ncat\n`, { mode: 0o755 })
  writeFileSync(join(its.worktree, '.gitattributes'), '* filter=evil diff=evil text\n')
  const plant = (...settings: Array<[string, string]>) => {
    for (const [name, value] of settings) git(its.repository, 'config', name, value)
  }
  plant(
    ['filter.evil.clean', program],
    ['filter.evil.smudge', program],
    ['filter.evil.process', program],
    ['diff.evil.command', program],
    ['diff.evil.textconv', program],
    ['diff.external', program],
    ['core.fsmonitor', program],
    ['core.pager', program],
    ['core.sshCommand', program],
    ['core.editor', program],
    ['core.alternateRefsCommand', program],
    ['gpg.program', program],
    ['log.showSignature', 'true'],
    ['credential.helper', `!${program}`],
    ['interactive.diffFilter', program],
    ['extensions.partialClone', 'evil'],
    ['remote.evil.url', `ext::${program}`],
    ['remote.evil.promisor', 'true'],
    ['remote.evil.uploadpack', program],
    ['protocol.ext.allow', 'always'],
    ['core.hooksPath', join(its.worktree, 'hooks')],
    ['core.askPass', program],
  )
  mkdirSync(join(its.worktree, 'hooks'))
  for (const hook of [
    'post-index-change',
    'reference-transaction',
    'post-checkout',
    'fsmonitor-watchman',
    'pre-auto-gc',
  ])
    copyFileSync(program, join(its.worktree, 'hooks', hook))
  appendFileSync(join(its.worktree, 'README'), 'changed\n')
  expect((await files()).body.data).toContain('README')
  const card = await its.card()
  expect(await card.remove()).toEqual(dirty)
  expect(await card.remove(true)).toEqual(gone)
  expect(card.patch()).toContain('+changed')
  expect(existsSync(sentinel) ? readFileSync(sentinel, 'utf8') : 'nothing ran').toBe('nothing ran')
  // The bait works: Git runs it.
  execFileSync('git', ['status'], { cwd: its.worktree, env: gitEnvironment, stdio: 'ignore' })
  expect(existsSync(sentinel)).toBe(true)
})

test('reading changes nothing in the repository', async () => {
  const card = await its.card()
  appendFileSync(join(its.worktree, 'README'), 'More.\n')
  const before = contents(join(its.repository, '.git'))
  await files()
  await card.remove()
  await card.remove(true)
  expect(contents(join(its.repository, '.git'))).toEqual(before)
})
