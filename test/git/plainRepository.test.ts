import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { configurationOf } from '../../src/git/configuration.ts'
import { git as runGit } from '../../src/git/git.ts'
import { readPlainRepository } from '../../src/git/plainRepository.ts'
import { listRefFiles } from '../../src/git/refFiles.ts'
import { commit, git } from './cards.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plain-repository-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let path: string
let count = 0
beforeEach(() => {
  path = join(folder, String(count++))
  init()
})

function init(...args: string[]): void {
  rmSync(path, { recursive: true, force: true })
  execFileSync('git', ['init', '--quiet', '--initial-branch=main', ...args, path])
  commit(path, 'a', 'a\n')
}

/** The answers of Git about a folder. */
const asked = (at: string) => {
  const [topLevel, gitDir, commonDir, head] = git(
    at,
    'rev-parse',
    '--path-format=absolute',
    '--show-toplevel',
    '--git-dir',
    '--git-common-dir',
    'HEAD',
  ).split('\n')
  return { topLevel, gitDir, commonDir, head, branch: git(at, 'symbolic-ref', '--short', 'HEAD') }
}
const refsOf = (at: string) => git(at, 'for-each-ref', '--format=%(objectname) %(refname)')

test.each<[what: string, prepare: () => void]>([
  ['right after its creation', () => {}],
  ['with packed refs', () => git(path, 'pack-refs', '--all')],
  [
    'with a packed ref that has moved',
    () => {
      git(path, 'pack-refs', '--all')
      commit(path, 'b', 'b\n')
    },
  ],
  ['with ids of SHA-256', () => init('--object-format=sha256')],
  ['on a branch in folders', () => git(path, 'switch', '--quiet', '-c', 'one/two/three')],
])('a repository %s is read like Git reads it, also from a subfolder and from a worktree', async (_, prepare) => {
  prepare()
  mkdirSync(join(path, 'sub/folder'), { recursive: true })
  git(path, 'worktree', 'add', '--quiet', '-b', 'beside', join(path, 'linked'))
  for (const at of [path, join(path, 'sub/folder'), join(path, 'linked')])
    expect(await readPlainRepository(at)).toEqual(asked(at))
})

test('the inner one of nested repositories counts', async () => {
  const inner = join(path, 'inner')
  mkdirSync(inner)
  expect((await readPlainRepository(inner))!.topLevel).toBe(path)
  execFileSync('git', ['init', '--quiet', inner])
  commit(inner, 'c', 'c\n')
  expect(await readPlainRepository(inner)).toEqual(asked(inner))
})

test.each<[what: string, prepare: () => void]>([
  ['before its first commit', () => git(path, 'switch', '--quiet', '--orphan', 'empty')],
  ['without a branch', () => git(path, 'switch', '--quiet', '--detach')],
  ['whose branch is another name of one', () => git(path, 'symbolic-ref', 'refs/heads/main', 'refs/heads/other')],
  [
    'whose branch is a broken file over a packed ref',
    () => {
      git(path, 'pack-refs', '--all')
      writeFileSync(join(path, '.git/refs/heads/main'), '')
    },
  ],
  ['whose HEAD is a link', () => relink(join(path, '.git/HEAD'))],
  ['whose Git folder is a link', () => relink(join(path, '.git'))],
  ['with files elsewhere', () => git(path, 'config', 'core.worktree', folder)],
  ['with files elsewhere by an included file', () => include('[core]\n\tworktree = /\n')],
  ['with a format to come', () => git(path, 'config', 'core.repositoryFormatVersion', '2')],
  ['with an extension', () => git(path, 'config', 'extensions.refStorage', 'reftable')],
  ['with a reftable', () => mkdirSync(join(path, '.git/reftable'))],
  ['with another common folder', () => writeFileSync(join(path, '.git/commondir'), '../elsewhere\n')],
  ['without its objects', () => rmSync(join(path, '.git/objects'), { recursive: true })],
  ['that is only named', () => name(join(folder, 'elsewhere'))],
])('Git is called for a repository %s', async (_, prepare) => {
  expect(await readPlainRepository(path)).toBeDefined()
  prepare()
  expect(await readPlainRepository(path)).toBeUndefined()
})

function relink(at: string): void {
  renameSync(at, `${at}-itself`)
  symlinkSync(`${at}-itself`, at)
}
function include(text: string): void {
  writeFileSync(join(path, '.git/more'), text)
  git(path, 'config', 'include.path', 'more')
}
function name(at: string): void {
  renameSync(join(path, '.git'), at)
  writeFileSync(join(path, '.git'), `gitdir: ${at}\n`)
}

test('a changed setting applies immediately, also in a file of the same size and time', async () => {
  const place = { topLevel: path, gitDir: join(path, '.git'), commonDir: join(path, '.git') }
  const eol = async () => (await configurationOf(place)).findLast(({ name: each }) => each === 'core.eol')?.value
  git(path, 'config', 'core.eol', 'lf')
  expect(await eol()).toBe('lf')
  for (let round = 0; round < 5; round++)
    for (const value of ['native', 'crlf', 'lf']) {
      execFileSync('git', ['-C', path, 'config', 'core.eol', value])
      expect(await eol()).toBe(value)
    }
  include('[core]\n\teol = crlf\n')
  expect(await eol()).toBe('crlf')
  writeFileSync(join(path, '.git/more'), '[core]\n\teol = lf\n')
  expect(await eol()).toBe('lf')
  const personal = join(folder, 'personal')
  writeFileSync(personal, '[core]\n\teol = native\n')
  const before = process.env.GIT_CONFIG_GLOBAL
  try {
    process.env.GIT_CONFIG_GLOBAL = personal
    git(path, 'config', '--unset-all', 'core.eol')
    git(path, 'config', '--unset-all', 'include.path')
    expect(await eol()).toBe('native')
  } finally {
    if (before === undefined) delete process.env.GIT_CONFIG_GLOBAL
    else process.env.GIT_CONFIG_GLOBAL = before
  }
})

test('all refs are those that Git lists, in its order', async () => {
  for (const branch of ['b', 'a-b', 'a/b', 'z.y', 'umlaut-ä']) git(path, 'branch', branch)
  git(path, 'tag', '-a', '-m', 'One', 'v1')
  git(path, 'update-ref', 'refs/remotes/origin/main', 'HEAD')
  git(path, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main')
  // A name that only Git can validate.
  expect(await listRefFiles(join(path, '.git'))).toBeUndefined()
  git(path, 'branch', '-D', 'umlaut-ä')
  const listed = async () => (await listRefFiles(join(path, '.git')))?.trimEnd()
  expect(await listed()).toBe(refsOf(path))
  git(path, 'pack-refs', '--all')
  expect(await listed()).toBe(refsOf(path))
  commit(path, 'd', 'd\n')
  git(path, 'branch', '-D', 'b')
  expect(await listed()).toBe(refsOf(path))
  git(path, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/gone')
  expect(await listed()).toBeUndefined()
})

test('a run of Git fails with CONFLICT if the machine has no Git, and with the folder if that is missing', async () => {
  await expect(runGit(join(path, 'missing'), ['status'])).rejects.toMatchObject({ reason: 'folder' })
  vi.stubEnv('PATH', join(path, 'empty'))
  try {
    await expect(runGit(path, ['status'])).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('Git was not found'),
    })
  } finally {
    vi.unstubAllEnvs()
  }
})
