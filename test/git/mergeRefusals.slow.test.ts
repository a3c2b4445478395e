import { appendFileSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { commit, git, useProjects, write, type TestCard, type TestProject } from './cards.ts'

const projects = useProjects()
let project: TestProject
let card: TestCard
let worktree: string
let path: string
let other: string
beforeEach(async () => {
  project = await projects.project()
  path = project.path
  other = `${path}-other`
  for (const name of ['one', 'two', 'three']) commit(path, name, `${name}\n`)
  git(path, 'branch', 'release')
  card = await project.card()
  worktree = (await card.start()).cwd
  commit(worktree, 'work', 'work\n')
})

const tip = (branch: string) => git(path, 'rev-parse', branch)
/** Git as run by a user with a configured editor. */
const edited = (cwd: string, editor: string, ...args: string[]) =>
  git(cwd, '-c', `sequence.editor=sed -i '${editor}'`, ...args)
const stopRebase = (cwd: string, ...options: string[]) => edited(cwd, '1s/^pick/edit/', 'rebase', '-i', ...options)
const refusal = async (into: string): Promise<{ code: string; message: string }> => {
  const before = git(path, 'for-each-ref')
  const error = await card.merge({ into }).then(
    () => undefined,
    (error: { code: string; message: string }) => error,
  )
  expect(git(path, 'for-each-ref')).toBe(before)
  return error!
}

describe('a branch that a command of Git sets when it ends is not moved', () => {
  test.each<[state: string, prepare: () => void, named: () => string, end: () => void]>([
    [
      'an interactive rebase',
      () => stopRebase(path, 'HEAD~2'),
      () => `A git rebase of main is in progress in ${path}.`,
      () => git(path, 'rebase', '--abort'),
    ],
    [
      'a rebase by patches',
      () => {
        git(path, 'checkout', '-q', '-b', 'aside', 'HEAD~1')
        commit(path, 'three', 'another three\n')
        git(path, 'checkout', '-q', 'main')
        expect(() => git(path, 'rebase', '--apply', 'aside')).toThrow(/Command failed/)
      },
      () => `A git rebase of main is in progress in ${path}.`,
      () => git(path, 'rebase', '--abort'),
    ],
    [
      'a rebase of a branch on top of it',
      () => {
        git(path, 'checkout', '-q', '-b', 'stacked')
        commit(path, 'four', 'four\n')
        stopRebase(path, '--update-refs', 'HEAD~2')
      },
      () => `A git rebase of main is in progress in ${path}.`,
      () => git(path, 'rebase', '--abort'),
    ],
    [
      'a bisection',
      () => git(path, 'bisect', 'start', 'HEAD', 'HEAD~3'),
      () => `A git bisect of main is in progress in ${path}.`,
      () => git(path, 'bisect', 'reset'),
    ],
    [
      'a rebase in another worktree',
      () => {
        git(path, 'checkout', '-q', '--detach')
        git(path, 'worktree', 'add', '-q', other, 'main')
        stopRebase(other, 'HEAD~2')
      },
      () => `A git rebase of main is in progress in ${other}.`,
      () => git(other, 'rebase', '--continue'),
    ],
  ])('%s', async (_, prepare, named, end) => {
    prepare()
    expect(await refusal('main')).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining(named()) })
    end()
    const { commit } = await card.merge({ into: 'main' })
    expect(tip('main')).toBe(commit)
  })
})

test('a rebase of another branch does not matter', async () => {
  stopRebase(path, 'HEAD~2')
  expect(await card.merge({ into: 'release' })).toMatchObject({ merged: true, commit: tip('release') })
  git(path, 'rebase', '--abort')
})

test('a merge is not reported if its branch is moved away at once', async () => {
  const [before, file] = [tip('release'), join(path, '.git/refs/heads/release')]
  const watcher = watch(join(path, '.git/refs/heads'), () => {
    if (readFileSync(file, 'utf8').trim() !== before) writeFileSync(file, `${before}\n`)
  })
  const merging = card.merge({ into: 'release' })
  await expect(merging).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'release changed during the merge and does not contain it. Merge again.',
  })
  watcher.close()
  expect(await card.merge({ into: 'release' })).toMatchObject({ merged: true, commit: tip('release') })
})

describe('a rejection names the obstacle', () => {
  test.each<[what: string, prepare: () => void, into: string, named: () => string[]]>([
    [
      'a lock on the index',
      () => writeFileSync(join(path, '.git/index.lock'), ''),
      'main',
      () => [join(path, '.git/index.lock')],
    ],
    [
      'a lock on the branch',
      () => writeFileSync(join(path, '.git/refs/heads/release.lock'), ''),
      'release',
      () => [join(path, '.git/refs/heads/release.lock')],
    ],
    ['a file that is not tracked', () => writeFileSync(join(path, 'work'), 'mine\n'), 'main', () => [path, 'work']],
    ['local changes', () => appendFileSync(join(path, 'one'), 'mine\n'), 'main', () => [path, 'one']],
    [
      'local changes in another worktree',
      () => {
        git(path, 'worktree', 'add', '-q', other, 'release')
        appendFileSync(join(other, 'two'), 'mine\n')
      },
      'release',
      () => [other, 'two'],
    ],
    [
      'a branch that is checked out twice',
      () => git(path, 'worktree', 'add', '-q', '--force', other, 'main'),
      'main',
      () => [path, other],
    ],
  ])('%s', async (_, prepare, into, named) => {
    prepare()
    const { message } = await refusal(into)
    for (const each of named()) expect(message).toContain(each)
    expect(message).not.toContain('has new commits')
  })
})

describe('a merge never replaces a file that Git ignores', () => {
  const ignore = (...names: string[]) => write(path, '.git/info/exclude', names.join('\n'))

  test.each<[what: string, mine: string, theirs: string]>([
    ['a file', '.env', '.env'],
    ['a file in a folder', 'config/.env', 'config/.env'],
    ['a file in place of a folder', 'build', 'build/out'],
    ['a folder in place of a file', 'build/out', 'build'],
  ])('%s', async (_, mine, theirs) => {
    ignore('.env', 'build')
    write(path, mine, 'mine\n')
    write(worktree, theirs, 'theirs\n')
    git(worktree, 'add', '-f', theirs)
    git(worktree, 'commit', '-qm', 'Add an ignored file')
    const { code, message } = await refusal('main')
    expect({ code, message }).toEqual({ code: 'WORKTREE_DIRTY', message: expect.stringContaining(mine) })
    expect(readFileSync(join(path, mine), 'utf8')).toBe('mine\n')
    rmSync(join(path, mine))
    await card.merge({ into: 'main' })
    expect(readFileSync(join(path, theirs), 'utf8')).toBe('theirs\n')
  })

  test('a folder that only has tracked files can become a file', async () => {
    commit(path, 'folder/inside', 'inside\n')
    git(worktree, 'merge', '-q', 'main')
    rmSync(join(worktree, 'folder'), { recursive: true })
    commit(worktree, 'folder', 'a file now\n')
    await card.merge({ into: 'main' })
    expect(readFileSync(join(path, 'folder'), 'utf8')).toBe('a file now\n')
  })
})

/** A generator of numbers below a limit (mulberry32). */
const random = (seed: number) => (limit: number) => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) % limit
}

/** A folder with a user's unfinished work, and the branch of the folder. */
type Begin = (folder: string, round: number, home: string) => void
type End = (folder: string, home: string) => void
const by =
  (...args: string[]): End =>
  folder =>
    git(folder, ...args)
const back: End = (folder, home) => git(folder, 'checkout', '-q', home)

/** The commands of Git and other work that a user can have started in a folder, and the ways to end each. */
const states: Array<[name: string, begin: Begin, ends: End[]]> = [
  ['nothing', () => {}, [() => {}]],
  ['detached', folder => git(folder, 'checkout', '-q', '--detach'), [back]],
  ['another branch', (folder, round) => git(folder, 'checkout', '-q', '-b', `aside-${round}`), [back]],
  [
    'rebase',
    folder => stopRebase(folder, 'HEAD~1'),
    [by('rebase', '--abort'), by('rebase', '--continue'), by('rebase', '--quit')],
  ],
  ['rebase by patches', folder => tryGit(folder, 'rebase', '--apply', 'clash'), [by('rebase', '--abort')]],
  [
    'rebase of a branch on top',
    (folder, round) => {
      git(folder, 'checkout', '-q', '-b', `stacked-${round}`)
      commit(folder, `stacked-${round}`, 'stacked\n')
      stopRebase(folder, '--update-refs', 'HEAD~2')
    },
    [by('rebase', '--abort'), by('rebase', '--continue')],
  ],
  [
    'bisect',
    folder => git(folder, 'bisect', 'start', 'HEAD', 'HEAD~2'),
    [
      by('bisect', 'reset'),
      folder => {
        tryGit(folder, 'bisect', 'good')
        git(folder, 'bisect', 'reset')
      },
    ],
  ],
  [
    'cherry-pick',
    folder => tryGit(folder, 'cherry-pick', 'clash'),
    [by('cherry-pick', '--abort'), by('cherry-pick', '--skip')],
  ],
  ['cherry-pick of several', folder => tryGit(folder, 'cherry-pick', 'pick', 'clash'), [by('cherry-pick', '--abort')]],
  ['revert', folder => git(folder, 'revert', '--no-commit', 'HEAD'), [by('revert', '--abort')]],
  ['patches', folder => tryGit(folder, 'am', patch(folder)), [by('am', '--abort'), by('am', '--skip')]],
  ['merge', folder => tryGit(folder, 'merge', 'clash'), [by('merge', '--abort')]],
  ['dirty', folder => appendFileSync(join(folder, 'one'), 'mine\n'), [by('checkout', '-q', 'one')]],
  [
    'staged',
    (folder, round) => {
      writeFileSync(join(folder, `staged-${round}`), 'mine\n')
      git(folder, 'add', `staged-${round}`)
    },
    [by('reset', '-q', '--hard')],
  ],
  [
    'stashed',
    folder => {
      appendFileSync(join(folder, 'one'), 'mine\n')
      git(folder, 'stash', 'push', '-q')
    },
    [
      folder => {
        git(folder, 'stash', 'pop', '-q')
        git(folder, 'checkout', '-q', 'one')
      },
    ],
  ],
  ['untracked', (folder, round) => writeFileSync(join(folder, `work-${round}`), 'mine\n'), [by('clean', '-qf')]],
  ['index.lock', folder => writeFileSync(lockOf(folder), ''), [() => {}]],
  ['a lock of its branch', (folder, _, home) => writeFileSync(refLockOf(folder, home), ''), [() => {}]],
]
const tryGit = (folder: string, ...args: string[]) => {
  try {
    git(folder, ...args)
  } catch {
    /* The conflict is the state. */
  }
}
const pathIn = (folder: string, name: string) => resolve(folder, git(folder, 'rev-parse', '--git-path', name))
const lockOf = (folder: string) => pathIn(folder, 'index.lock')
const refLockOf = (folder: string, home: string) => pathIn(folder, `refs/heads/${home}.lock`)
const patch = (folder: string): string => {
  const file = pathIn(folder, 'clash.patch')
  writeFileSync(file, `${git(folder, 'format-patch', '-1', 'clash', '--stdout')}\n`)
  return file
}

const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 2 * states.length)
const firstSeed = Number(process.env.BOARD_TEST_SEED ?? 1)
test(`${rounds} random merges next to random work: merged work stays merged, and no work of the user is lost`, async () => {
  git(path, 'checkout', '-q', '-b', 'pick', 'HEAD~1')
  commit(path, 'picked', 'picked\n')
  git(path, 'checkout', '-q', '-b', 'clash', 'main~1')
  commit(path, 'three', 'clash\n')
  git(path, 'checkout', '-q', 'main')
  git(path, 'worktree', 'add', '-q', other, 'release')
  let merged = 0
  const contains = (id: string) => git(path, 'branch', '--contains', id, '--format=%(refname:short)').split('\n')
  for (let round = 0; round < rounds; round++) {
    const pick = random(firstSeed * 1000 + round)
    const folder = [path, other][pick(2)]!
    const home = folder === path ? 'main' : 'release'
    // Each state is combined with a merge into the branch of its folder and one into the other branch.
    const [name, begin, ends] = states[round % states.length]!
    const into = Math.floor(round / states.length) % 2 === 0 ? home : home === 'main' ? 'release' : 'main'
    const what = `seed ${firstSeed}, round ${round}: ${name} in ${home}, into ${into}`
    const own = commit(folder, `own-${round}`, 'own\n')
    commit(worktree, `work-${round}`, 'work\n')
    begin(folder, round, home)
    const before = { refs: git(path, 'for-each-ref'), status: git(folder, 'status', '--porcelain=v2', '--branch') }
    const changes = git(folder, 'status', '--porcelain')
    const result = await card.merge({ into, squash: pick(2) === 0 }).catch(() => undefined)
    if (!result) expect(git(path, 'for-each-ref'), what).toBe(before.refs)
    if (!result) expect(git(folder, 'status', '--porcelain=v2', '--branch'), what).toBe(before.status)
    expect(git(folder, 'status', '--porcelain'), what).toBe(changes)
    rmSync(lockOf(folder), { force: true })
    rmSync(refLockOf(folder, home), { force: true })
    ends[pick(ends.length)]!(folder, home)
    expect(contains(own), what).toContain(home)
    if (result) {
      merged++
      expect(contains(result.commit), what).toContain(into)
    }
    back(folder, home)
    const checkout = into === 'main' ? path : other
    expect(git(checkout, 'status', '--porcelain', '--untracked-files=no'), what).toBe('')
  }
  expect(merged).toBeGreaterThan(rounds / 5)
})
