import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { git, openProjects, write, type TestCard, type TestProject } from '../git/cards.ts'
import { hasSandbox } from '../git/sandboxSession.ts'

/** Files of the server's account that no worktree holds. */
const secret = 'a secret of the account'
const files = 100
const rounds = 20
const racers: ChildProcess[] = []
let projects: Awaited<ReturnType<typeof openProjects>>
let outside: string
let project: TestProject
let card: TestCard
let worktree: string

beforeAll(async () => {
  projects = await openProjects()
  outside = join(projects.folder, 'outside')
  for (let index = 0; index < files; index++) write(outside, `deep/file-${index}`, `${secret}\n`)
})
afterAll(() => projects.close())
let count = 0
beforeEach(async () => {
  project = await projects.project(`raced-${++count}`)
  for (let index = 0; index < files; index++) write(project.path, `folder/deep/file-${index}`, 'committed\n')
  git(project.path, 'add', '.')
  git(project.path, 'commit', '-q', '-m', 'Add files')
  card = await project.card()
  worktree = (await card.start()).cwd
})
afterEach(() => {
  for (const racer of racers.splice(0)) racer.kill('SIGKILL')
})

/** Swaps two names in a folder until the test ends. */
const race = (folder: string, name: string, other: string): void => {
  const program = join(import.meta.dirname, '../fixtures/attacks/exchange.pl')
  racers.push(spawn('perl', [program, folder, name, other], { stdio: ['ignore', 'ignore', 'inherit'] }))
}

/** The files outside, and their content. */
const listOutside = () =>
  readdirSync(join(outside, 'deep')).map(name => [name, readFileSync(join(outside, 'deep', name), 'utf8')])

describe.skipIf(!hasSandbox)("filters of the account's configuration", () => {
  it('see no file outside of the worktree when the board compares', async () => {
    const file = join(outside, 'deep/file-0')
    const configuration = join(projects.home, '.gitconfig')
    write(project.path, '.git/info/attributes', '*.seen filter=spy\n')
    write(projects.home, '.gitconfig', `[filter "spy"]\n\tclean = cat - '${file}' 2> /dev/null || echo hidden\n`)
    try {
      write(worktree, 'new.seen', 'new\n')
      const { diff } = await card.diff()
      expect(diff).toContain('+new\n+hidden\n')
      expect(diff).not.toContain(secret)
    } finally {
      rmSync(configuration)
    }
  })
})

describe.skipIf(!hasSandbox)('the files of a worktree', () => {
  it('are compared without content from outside while a folder and a link to another folder swap places', async () => {
    for (let index = 0; index < files; index++) write(worktree, `folder/deep/file-${index}`, 'changed\n')
    symlinkSync(outside, join(worktree, 'link'))
    race(worktree, 'folder', 'link')
    const diffs: string[] = []
    for (let round = 0; round < rounds; round++) {
      const { diff } = await card.diff().catch((error: { code: string }) => {
        expect(error.code).toBe('CONFLICT')
        return { diff: '' }
      })
      diffs.push(diff)
    }
    expect(diffs.filter(diff => diff.includes(secret))).toEqual([])
    expect(diffs.some(diff => diff.includes('changed'))).toBe(true)
  })

  it('are merged without a write outside while a folder and a link to another folder swap places', async () => {
    symlinkSync(outside, join(project.path, 'link'))
    git(project.path, 'add', 'link')
    git(project.path, 'commit', '-q', '-m', 'Add a link')
    const before = listOutside()
    race(project.path, 'folder', 'link')
    let attempts = 0
    for (; attempts < rounds; attempts++) {
      write(worktree, `folder/deep/new-${attempts}`, 'written\n')
      for (let index = 0; index < files; index++) write(worktree, `folder/deep/file-${index}`, `change ${attempts}\n`)
      await card.merge().catch((error: { code: string }) => {
        expect(['CONFLICT', 'WORKTREE_DIRTY']).toContain(error.code)
      })
    }
    expect(attempts).toBe(rounds)
    expect(listOutside()).toEqual(before)
  })

  it('are committed without content from outside while a folder and a link to another folder swap places', async () => {
    symlinkSync(outside, join(worktree, 'link'))
    git(project.path, 'checkout', '-q', '--detach')
    race(worktree, 'folder', 'link')
    for (let round = 0; round < rounds; round++) {
      for (let index = 0; index < files; index++)
        try {
          write(worktree, `folder/deep/file-${index}`, `change ${round}\n`)
        } catch {
          // The link existed.
        }
      for (let index = 0; index < files; index++) write(outside, `deep/file-${index}`, `${secret}\n`)
      await card.merge({ into: 'main' }).catch((error: { code: string }) => {
        expect(error.code).toBe('CONFLICT')
      })
    }
    expect(git(project.path, 'log', '--all', '--format=%H', `-S${secret}`, '--', '.')).toBe('')
  })

  it.each(['file', 'folder'])('are compared if a %s is a named pipe', async kind => {
    const path = join(worktree, kind === 'file' ? 'folder/deep/file-0' : 'folder')
    rmSync(path, { recursive: true })
    execFileSync('mkfifo', [path])
    expect((await card.diff()).diff).toContain('deleted file')
  })

  it('cannot be redirected by links that the index does not hold', async () => {
    rmSync(join(worktree, 'folder'), { recursive: true })
    symlinkSync(outside, join(worktree, 'folder'))
    const { diff } = await card.diff()
    expect(diff).not.toContain(secret)
    // The link itself is a changed file, with its target as the content.
    expect(diff).toContain(`+${outside}`)
  })

  it('are reconnected after a move, without a write through a link at the .git of another worktree', async () => {
    const other = await project.card()
    const pointer = join((await other.start()).cwd, '.git')
    rmSync(pointer)
    symlinkSync(join(outside, 'deep/file-0'), pointer)
    const before = listOutside()
    write(worktree, 'loose', 'loose\n')
    // The repository records another place, as after a move of the folder.
    write(project.path, `.git/worktrees/${card.id}/gitdir`, `${projects.folder}/earlier/.git\n`)
    expect((await card.start()).cwd).toBe(worktree)
    expect(git(worktree, 'status', '--porcelain')).toBe('?? loose')
    expect(listOutside()).toEqual(before)
  })
})
