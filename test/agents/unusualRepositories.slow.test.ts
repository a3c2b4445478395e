import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { useCommandCards } from '../support/agents/commandCards.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'
import { sandboxes } from '../support/sandbox/bubblewrap.ts'

const git = (path: string, ...args: string[]) => execFileSync('git', ['-C', path, ...args], { encoding: 'utf8' }).trim()
const isRoot = process.getuid?.() === 0
if (!isRoot) reportSkipped('A repository of another account', 'only root can create one.')

const unreadable: ReadonlyArray<[what: string, words: RegExp, prepare: (path: string) => void]> = [
  [
    'with a broken configuration',
    /bad config line/,
    path => writeFileSync(join(path, '.git/config'), '[user\n', { flag: 'a' }),
  ],
  [
    'of an unknown format',
    /unknown repository extension|repo version/,
    path => {
      git(path, 'config', 'extensions.unknown', 'true')
      git(path, 'config', 'core.repositoryFormatVersion', '1')
    },
  ],
  ['without a branch in HEAD', /not a git repository/, path => writeFileSync(join(path, '.git/HEAD'), '')],
  ['without objects', /not a git repository/, path => rmSync(join(path, '.git/objects'), { recursive: true })],
  [
    'whose .git names a missing folder',
    /not a git repository/,
    path => {
      rmSync(join(path, '.git'), { recursive: true })
      writeFileSync(join(path, '.git'), 'gitdir: ../gone\n')
    },
  ],
  [
    'whose .git is a link that leads nowhere',
    /not a git repository/,
    path => {
      rmSync(join(path, '.git'), { recursive: true })
      symlinkSync('gone', join(path, '.git'))
    },
  ],
]

describe.each(sandboxes)('with --sandbox %s', sandbox => {
  const on = useCommandCards(sandbox)

  describe('a repository that Git refuses', () => {
    const refuses = async (prepare: (path: string) => string | void, words: RegExp) => {
      const project = await on.cards.project(prepare)
      const card = await on.cards.run(project, 'touch written')
      expect(card).toMatchObject({ status: 'failed', said: expect.stringContaining('Git cannot use the repository') })
      expect(card.said).toMatch(words)
      expect(existsSync(join(project.path, 'written'))).toBe(false)
      const place = { projectId: project.projectId, cardId: card.id }
      expect((await on.board.client.cards.get(place)).statusReason).toBe('launch_failed')
      const inFolder = await on.cards.run(project, 'touch written', { useWorktree: false })
      expect(inFolder.status).toBe('failed')
      await expect(on.board.client.agents.diff(place)).rejects.toMatchObject({ code: 'CONFLICT' })
      await on.board.client.projects.delete({ id: project.projectId })
    }

    test.each(unreadable)('%s stays unchanged, and the card states the reason', (_, words, prepare) =>
      refuses(prepare, words),
    )

    test('is also found from a folder in it', () =>
      refuses(path => {
        mkdirSync(join(path, 'folder'))
        writeFileSync(join(path, '.git/HEAD'), '')
        return join(path, 'folder')
      }, /not a git repository/))

    test.skipIf(!isRoot)('of another account is not used, and the card names the command that trusts it', () =>
      refuses(path => {
        for (const each of [path, join(path, '.git')]) {
          chmodSync(each, 0o777)
          chownSync(each, 12345, 12345)
        }
      }, /dubious ownership.*git config --global --add safe\.directory/),
    )

    test('works again after a repair', async () => {
      const project = await on.cards.project(path => writeFileSync(join(path, '.git/HEAD'), ''))
      expect((await on.cards.run(project, 'true')).status).toBe('failed')
      writeFileSync(join(project.path, '.git/HEAD'), 'ref: refs/heads/main\n')
      const card = await on.cards.run(project, 'touch written')
      expect(card.status).toBe('completed')
      expect(await on.cards.diff(project, card)).toContain('written')
      expect(existsSync(join(project.path, 'written'))).toBe(false)
    })
  })

  test('with an empty folder .git is not detected', async () => {
    const project = await on.cards.project(path => {
      const folder = `${path}-plain`
      mkdirSync(join(folder, '.git'), { recursive: true })
      return folder
    })
    const card = await on.cards.run(project, 'touch written')
    expect(card.status).toBe('completed')
    expect(existsSync(join(project.path, 'written'))).toBe(true)
  })

  describe.each<[layout: string, prepare: (path: string) => { path: string; gitDir: string }]>([
    [
      'a bare repository',
      path => {
        git(path, 'clone', '-q', '--bare', '.', `${path}.git`)
        return { path: `${path}.git`, gitDir: `${path}.git` }
      },
    ],
    [
      'a folder whose .git is a bare repository',
      path => {
        git(path, 'clone', '-q', '--bare', '.', `${path}-layout/.git`)
        return { path: `${path}-layout`, gitDir: `${path}-layout/.git` }
      },
    ],
    [
      'a folder whose .git names a bare repository',
      path => {
        git(path, 'clone', '-q', '--bare', '.', `${path}-layout/.bare`)
        writeFileSync(join(`${path}-layout`, '.git'), 'gitdir: ./.bare\n')
        return { path: `${path}-layout`, gitDir: `${path}-layout/.bare` }
      },
    ],
  ])('%s', (_, prepare) => {
    let gitDir: string
    const newProject = (change: (path: string) => void = () => {}) =>
      on.cards.project(path => {
        change(path)
        const made = prepare(path)
        gitDir = made.gitDir
        return made.path
      })
    const inGitDir = (...args: string[]) => git(gitDir, `--git-dir=${gitDir}`, ...args)

    test('gives cards worktrees, and merges go to the branch', async () => {
      const project = await newProject()
      const card = await on.cards.run(project, 'echo work > work; git add work; git commit -qm Work; echo more > more')
      expect(card.status).toBe('completed')
      expect(await on.cards.diff(project, card)).toContain('+more')
      expect(await on.cards.merge(project, card)).toMatchObject({ merged: true, into: 'main' })
      expect(inGitDir('show', 'main:work')).toBe('work')
      expect(inGitDir('show', 'main:more')).toBe('more')
      for (const name of ['work', 'more', 'a.txt']) expect(existsSync(join(project.path, name))).toBe(false)
    })

    test("changes the files of the user's worktree in which the branch is checked out", async () => {
      const project = await newProject()
      const checkout = join(project.path, 'checkout')
      inGitDir('worktree', 'add', '-q', checkout, 'main')
      const card = await on.cards.run(project, 'echo work > work')
      await on.cards.merge(project, card)
      expect(readFileSync(join(checkout, 'work'), 'utf8')).toBe('work\n')
      expect(git(checkout, 'status', '--short')).toBe('')
    })

    test('reads on.board.json of its branch, and lists the files of its branch', async () => {
      const project = await newProject(path => {
        writeFileSync(join(path, 'board.json'), '{"setup":"true"}')
        git(path, 'add', '.')
        git(path, 'commit', '-qm', 'Board')
      })
      const { projectId } = project
      const { boardFile } = await on.board.client.projects.getWorktree({ id: projectId })
      expect(boardFile).toMatchObject({ settings: { setup: 'true' } })
      await on.board.client.projects.agreeToBoardFile({ id: projectId, version: boardFile!.version! })
      expect((await on.board.client.projects.getWorktree({ id: projectId })).effective.setup).toBe('true')
      expect(await on.board.client.projects.files({ projectId })).toContain('board.json')
    })

    test('has no files for a card without a worktree', async () => {
      const project = await newProject()
      const card = await on.cards.run(project, 'touch written', { useWorktree: false })
      expect(card).toMatchObject({ status: 'failed', said: expect.stringContaining('repository is bare') })
      expect(existsSync(join(project.path, 'written'))).toBe(false)
    })
  })

  describe.each<[layout: string, prepare: (path: string) => string]>([
    [
      'a Git folder elsewhere (--separate-git-dir)',
      path => {
        git(path, 'init', '-q', '--separate-git-dir', `${path}.gitdir`)
        return path
      },
    ],
    [
      'a submodule as the project',
      path => {
        const around = `${path}-around`
        execFileSync('git', ['init', '-q', '-b', 'main', around])
        git(around, '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', path, 'inner')
        git(around, 'commit', '-qm', 'Add a submodule')
        return join(around, 'inner')
      },
    ],
    [
      'a link as .git',
      path => {
        renameSync(join(path, '.git'), `${path}.gitdir`)
        symlinkSync(`${path}.gitdir`, join(path, '.git'))
        return path
      },
    ],
    [
      'a link as .git to a folder .git elsewhere',
      path => {
        mkdirSync(`${path}-elsewhere`)
        renameSync(join(path, '.git'), `${path}-elsewhere/.git`)
        symlinkSync(`${path}-elsewhere/.git`, join(path, '.git'))
        return path
      },
    ],
  ])('%s', (_, prepare) => {
    test('merges cards, and the files of the folder follow', async () => {
      const project = await on.cards.project(prepare)
      for (const name of ['one', 'two']) {
        const card = await on.cards.run(
          project,
          `echo ${name} > ${name}; git add .; git commit -qm Work; echo more >> ${name}`,
        )
        expect(card.status).toBe('completed')
        expect(await on.cards.diff(project, card)).toContain('+more')
        expect(await on.cards.merge(project, card)).toMatchObject({ merged: true, into: 'main' })
        expect(readFileSync(join(project.path, name), 'utf8')).toBe(`${name}\nmore\n`)
        expect(git(project.path, 'status', '--short')).toBe('')
      }
    })

    test('keeps local changes of the folder', async () => {
      const project = await on.cards.project(prepare)
      const card = await on.cards.run(project, 'echo work > README')
      writeFileSync(join(project.path, 'README'), 'mine\n')
      await expect(on.cards.merge(project, card)).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
      expect(readFileSync(join(project.path, 'README'), 'utf8')).toBe('mine\n')
    })

    test('does not move a branch that the folder rebases', async () => {
      const project = await on.cards.project(prepare)
      const card = await on.cards.run(project, 'echo work > work')
      git(project.path, '-c', 'sequence.editor=echo break >', 'rebase', '-q', '-i', 'HEAD')
      const place = { projectId: project.projectId, cardId: card.id }
      await expect(on.board.client.agents.merge({ ...place, into: 'main' })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('rebase of main is in progress'),
      })
      git(project.path, 'rebase', '--abort')
      await on.cards.merge(project, card)
    })
  })

  test('a worktree of a repository with its Git folder elsewhere names the folder that it cannot update', async () => {
    const project = await on.cards.project(path => {
      git(path, 'init', '-q', '--separate-git-dir', `${path}.gitdir`)
      git(path, 'worktree', 'add', '-q', '-b', 'other', `${path}-linked`)
      return `${path}-linked`
    })
    const card = await on.cards.run(project, 'echo work > work')
    const place = { projectId: project.projectId, cardId: card.id }
    await expect(on.board.client.agents.merge({ ...place, into: 'main' })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('.gitdir'),
    })
    await on.cards.merge(project, card)
    expect(readFileSync(join(project.path, 'work'), 'utf8')).toBe('work\n')
  })
})
