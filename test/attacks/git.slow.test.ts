import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { startSlotlessBoard } from '../support/contract/seed.ts'

const person = ['-c', 'user.name=T', '-c', 'user.email=t@example.org', '-c', 'commit.gpgsign=false']
const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', [...person, ...args], { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
    .toString()
    .trim()
let board: TestBoard
let repository: string
let worktree: string
let bait: string
let ran: string
let projectId: string
let cardId: string
let count = 0

beforeAll(async () => {
  board = await startSlotlessBoard()
})
afterAll(() => board.close())
beforeEach(async () => {
  repository = board.folder(`repository-${++count}`)
  worktree = join(repository, '..', `worktree-${count}`)
  ran = join(repository, '..', `ran-${count}`)
  bait = join(repository, '..', `bait-${count}`)
  writeFileSync(bait, `#!/bin/sh\necho "$0 $*" >> '${ran}'\nexit 1\n`, { mode: 0o755 })
  git(repository, 'init', '-q', '-b', 'main')
  writeFileSync(join(repository, 'README'), 'A repository.\n')
  git(repository, 'add', '.')
  git(repository, 'commit', '-q', '-m', 'Begin')
  git(repository, 'worktree', 'add', '-q', '-b', 'own', worktree)
  writeFileSync(join(worktree, 'README'), 'Changed.\n')
  projectId = (await board.client.projects.create({ name: 'P', path: repository })).id
  cardId = (await board.client.cards.create({ projectId, title: 'Card' })).id
  await board.client.cards.attachWorktree({ projectId, cardId, path: worktree })
})

/** Performs everything that makes the server run git in an agent's folders. No request must fail with a 5xx. */
async function touchAll(): Promise<void> {
  const card = `/api/projects/${projectId}/cards/${cardId}`
  const routes = [
    ['GET', `${card}/diff`],
    ['GET', `/api/projects/${projectId}/files`],
    ['DELETE', card],
    ['POST', `${card}/merge`, { into: 'main' }],
    ['GET', `${card}/diff`],
    ['GET', `/api/filesystem/browse?path=${worktree}`],
  ] as const
  for (const [method, path, body] of routes) {
    const { status, text } = await board.request(method, path, { body })
    expect(status, `${method} ${path} ${text}`).toBeLessThan(500)
  }
}
const nothingRan = () => expect(existsSync(ran)).toBe(false)

it.each<[string, () => Array<[string, string]>]>([
  [
    'whose address is a command gets no request',
    () => [
      ['remote.evil.partialclonefilter', 'blob:none'],
      ['remote.evil.url', `ext::${bait} %S`],
      ['protocol.ext.allow', 'always'],
      ['protocol.allow', 'always'],
    ],
  ],
  [
    'on this machine runs no configured server program',
    () => [
      ['remote.evil.url', repository],
      ['remote.evil.uploadpack', bait],
    ],
  ],
])('a remote %s, although it lacks an object that it claims to have', async (_, more) => {
  for (const [name, value] of [
    ['core.repositoryFormatVersion', '1'],
    ['extensions.partialClone', 'evil'],
    ['remote.evil.promisor', 'true'],
    ...more(),
  ] as const)
    git(repository, 'config', name, value)
  const blob = git(repository, 'rev-parse', 'HEAD:README')
  rmSync(join(repository, '.git/objects', blob.slice(0, 2), blob.slice(2)))
  await touchAll()
  nothingRan()
  // The bait works: Git runs it.
  expect(() => git(repository, 'cat-file', 'blob', blob)).toThrow()
  expect(existsSync(ran)).toBe(true)
})

it('branch names that look like options are treated as names', async () => {
  const out = join(repository, '..', `out-${count}`)
  for (const into of [
    `--output=${out}`,
    '-D',
    '--upload-pack=touch',
    '-c',
    `ext::${bait}`,
    'main..own',
    'main@{0}',
    ':README',
    '@',
    'main\n--force',
    `refs/heads/../../${out}`,
  ]) {
    const { status, body } = await board.request('POST', `/api/projects/${projectId}/cards/${cardId}/merge`, {
      body: { into },
    })
    expect([status, body.error.code], into).toEqual([
      expect.any(Number),
      expect.stringMatching(/VALIDATION_FAILED|BRANCH_NOT_FOUND|CONFLICT/),
    ])
    expect(status, into).toBeLessThan(500)
  }
  git(worktree, 'commit', '-q', '-am', 'Work')
  for (const name of [`--output=${out}`, '-x', `--exec=${bait}`])
    writeFileSync(
      join(repository, '.git/refs/heads', name.replaceAll('/', '_')),
      `${git(worktree, 'rev-parse', 'HEAD')}\n`,
    )
  await touchAll()
  expect([existsSync(out), existsSync(ran)]).toEqual([false, false])
})

it('a worktree on a branch with the name of an option is inspected like any other', async () => {
  const out = join(repository, '..', `out-${count}`)
  git(worktree, 'symbolic-ref', 'HEAD', `refs/heads/--output=${out}`)
  await touchAll()
  expect(existsSync(out)).toBe(false)
})

it('programs in included configuration, aliases and submodules do not run', async () => {
  const settings = [
    'core.fsmonitor',
    'core.sshCommand',
    'core.editor',
    'core.gitProxy',
    'diff.external',
    'diff.all.command',
    'diff.all.textconv',
    'filter.all.clean',
    'filter.all.smudge',
    'filter.all.process',
    'merge.all.driver',
    'merge.default',
    'gpg.program',
    'gpg.ssh.program',
    'credential.helper',
    'sequence.editor',
    'uploadpack.packObjectsHook',
    'trailer.x.command',
    'submodule.sub.update',
  ]
  const included = join(worktree, 'included')
  writeFileSync(included, '')
  for (const name of settings)
    git(repository, 'config', '--file', included, name, name.startsWith('submodule') ? `!${bait}` : bait)
  git(repository, 'config', '--file', included, 'commit.gpgSign', 'true')
  git(repository, 'config', '--file', included, 'alias.diff', `!${bait}`)
  git(repository, 'config', 'include.path', included)
  git(repository, 'config', `includeIf.gitdir:${repository}/.path`, included)
  writeFileSync(join(worktree, '.gitattributes'), '* filter=all diff=all merge=all\n')
  writeFileSync(
    join(worktree, '.gitmodules'),
    `[submodule "sub"]\n\tpath = sub\n\turl = ext::${bait}\n\tupdate = !${bait}\n`,
  )
  mkdirSync(join(worktree, 'sub'))
  for (const hook of [
    'pre-commit',
    'post-checkout',
    'post-merge',
    'pre-merge-commit',
    'commit-msg',
    'prepare-commit-msg',
    'reference-transaction',
    'post-index-change',
    'post-commit',
    'update',
  ])
    writeFileSync(join(repository, '.git/hooks', hook), `#!/bin/sh\nexec '${bait}' ${hook}\n`, { mode: 0o755 })
  await touchAll()
  nothingRan()
  try {
    git(worktree, 'status')
  } catch {
    /* The replaced program fails. */
  }
  expect(existsSync(ran)).toBe(true)
})

it('a worktree that is replaced by a link is neither read nor deleted through', async () => {
  const elsewhere = join(repository, '..', `elsewhere-${count}`)
  mkdirSync(elsewhere)
  writeFileSync(join(elsewhere, 'kept'), 'of another user')
  rmSync(worktree, { recursive: true })
  execFileSync('ln', ['-s', elsewhere, worktree])
  const { text } = await board.request('GET', `/api/projects/${projectId}/cards/${cardId}/diff`)
  expect(text).not.toContain('of another user')
  await board.request('DELETE', `/api/projects/${projectId}/cards/${cardId}?force=true`)
  expect(readdirSync(elsewhere)).toEqual(['kept'])
})
