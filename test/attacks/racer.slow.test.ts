import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { changedFileOf } from '../../src/cardWork/changes.ts'
import { largeFilePlace } from '../../src/git/largeFiles.ts'
import { shadowOf } from '../../src/git/shadow.ts'
import { dropWorktree } from '../../src/worktrees/cardWorktrees.ts'
import { commitWorktree } from '../../src/worktrees/commitWork.ts'
import { compareWorktree } from '../../src/worktrees/compareWorktree.ts'
import { createSubfolder } from '../../src/worktrees/createSubfolder.ts'
import { findEmptySubmodules, isClean } from '../../src/worktrees/findWorktree.ts'
import { openGitView } from '../../src/worktrees/gitView.ts'
import { createLocalRemote } from '../../src/worktrees/localRemote.ts'
import { listSlashCommands, readProjectFile } from '../../src/worktrees/projectFiles.ts'
import { operations } from '../../src/worktrees/operations.ts'
import { savePatch } from '../../src/worktrees/savePatch.ts'
import { requirePushedSubmodules } from '../../src/worktrees/submodules.ts'
import { updateBranch } from '../../src/worktrees/updateBranch.ts'
import { commit, git, unrecorded, write } from '../git/cards.ts'
import { hasSandbox, openSession } from '../git/sandboxSession.ts'
import { addSubmodule, createLibrary, git as gitOfUser } from '../support/git/submodules.ts'
import { deepestFolder, endRace, listContent, race, raceAll } from '../support/sandbox/race.ts'
import { attempt, maxRaceMs, objectsOf, placeOf, rounds, secret, useRacedCards, type Raced } from './racedCards.ts'

vi.setConfig({ testTimeout: maxRaceMs })
const races = useRacedCards()

describe.skipIf(!hasSandbox)(
  'while a sandboxed program swaps files, folders and links at each depth of a worktree',
  () => {
    test.each<[what: string, operation: (raced: Raced, round: number) => Promise<unknown>]>([
      ['a diff', ({ card }) => card.diff()],
      [
        'a changed file',
        async ({ card, project }, round) =>
          changedFileOf(races.worktrees, await card.row(), unrecorded(project.path), {
            path: `${deepestFolder}/file-${round % 3}`,
            side: 'new',
          }),
      ],
      ['a review', async raced => compareWorktree(races.worktrees, await raced.place(), null, { stores: true })],
      [
        'the question whether it is clean',
        ({ project, worktree }) => isClean(races.worktrees, unrecorded(project.path), worktree, null),
      ],
      [
        'a patch',
        async ({ project, worktree }) => {
          const file = join(races.projects.folder, 'patch')
          rmSync(file, { force: true })
          const isSaved = await savePatch(races.worktrees, unrecorded(project.path), worktree, null, file)
          return isSaved && readFileSync(file)
        },
      ],
      [
        'a commit',
        async raced => {
          raced.change()
          return commitWorktree(races.worktrees, await raced.place(), { title: 'Work', isWhole: false })
        },
      ],
      ...(['merge', 'rebase'] as const).map((strategy): [string, (raced: Raced, round: number) => Promise<unknown>] => [
        strategy === 'merge' ? 'an update' : 'a rebase',
        async (raced, round) => {
          raced.change()
          const onto = commit(raced.project.path, `${deepestFolder}/file-2`, `theirs ${round}\n`)
          const place = await raced.place()
          return updateBranch(races.worktrees, {
            repository: await raced.repository(),
            place,
            isManaged: true,
            branch: place.branch!,
            onto,
            strategy,
            title: 'Work',
            message: 'Merge',
          })
        },
      ]),
      ...[false, true].map((squash): [string, (raced: Raced) => Promise<unknown>] => [
        squash ? 'a squashed merge' : 'a merge',
        async raced => {
          raced.change()
          return raced.card.merge({ squash })
        },
      ]),
      [
        'a new folder',
        ({ worktree }, round) => createSubfolder(races.worktrees, worktree, `${deepestFolder}/new-${round}/x`),
      ],
      [
        'a push to a folder in it',
        async (raced, round) => {
          const repository = await raced.repository()
          return createLocalRemote(races.worktrees).run(repository, join(raced.worktree, 'remote.git'), {
            args: ['push', '--', join(raced.worktree, 'remote.git'), `${repository.head}:refs/heads/pushed-${round}`],
            known: [],
            format: undefined,
            fetchedRef: null,
            timeoutMs: 20_000,
          })
        },
      ],
    ])('%s reads and writes nothing outside', async (what, operation) => {
      const raced = await races.prepare()
      if (what.startsWith('a push')) git(raced.worktree, 'clone', '-q', '--bare', raced.project.path, 'remote.git')
      await raceAll(raced.worktree, races.outside)
      await races.repeat(raced.project.path, round => operation(raced, round))
    })

    test('the removal of the worktree removes nothing outside', async () => {
      const { project } = await races.prepare()
      await races.repeat(project.path, async () => {
        const { worktreePath, branch } = await (await project.card()).start()
        await raceAll(worktreePath!, races.outside)
        await dropWorktree(races.worktrees, unrecorded(project.path), worktreePath!, branch).finally(endRace)
      })
    })

    test('the cleanup of a deleted card saves and removes nothing outside', async () => {
      const { project } = await races.prepare()
      await races.repeat(project.path, async () => {
        const card = await project.card()
        const { cwd } = await card.start()
        write(cwd, 'uncommitted', 'work\n')
        await raceAll(cwd, races.outside)
        await card.remove(true).finally(endRace)
        return listContent(join(project.dataDir, 'patches'))
      })
    })

    test('the restoration of a worktree reads and writes nothing outside', async () => {
      const { project } = await races.prepare()
      await races.repeat(project.path, async round => {
        const card = await project.card()
        const { cwd } = await card.start()
        await raceAll(cwd, races.outside)
        symlinkSync(join(races.outside, 'HEAD'), join(cwd, 'pointer-link'))
        await race(cwd, cwd, '.git', 'pointer-link')
        if (round % 2 === 1) rmSync(join(cwd, 'pointer-link'), { force: true })
        return card.start().finally(endRace)
      })
    })
  },
)

describe.skipIf(!hasSandbox)(
  "while a sandboxed program swaps files, folders and links at each depth of a project's folder",
  () => {
    test.each([false, true])(
      'a merge (squashed: %s) into the branch that it has checked out writes nothing outside',
      async squash => {
        const raced = await races.prepare()
        await raceAll(raced.project.path, races.outside)
        await races.repeat(raced.project.path, async round => {
          write(raced.worktree, `${deepestFolder}/file-${round % 3}`, `change ${round}\n`)
          raced.change()
          return raced.card.merge({ squash })
        })
      },
    )

    test('a worktree gets no copy of a file outside', async () => {
      const raced = await races.prepare(['ignored/**'])
      await raceAll(join(raced.project.path, 'ignored'), races.outside)
      await races.repeat(raced.project.path, async () => {
        const { cwd } = await (await raced.project.card()).start()
        return existsSync(join(cwd, 'ignored')) && listContent(join(cwd, 'ignored'))
      })
    })

    test('board.json and slash commands are read only from the worktree', async () => {
      const { project } = await races.prepare()
      write(project.path, '.claude/commands/one.md', 'own\n')
      write(project.path, 'board.json', '{}')
      symlinkSync(join(races.outside, '.claude/commands'), join(project.path, '.claude/link'))
      symlinkSync(join(races.outside, 'board.json'), join(project.path, 'board-link'))
      await race(project.path, join(project.path, '.claude'), 'commands', 'link')
      await race(project.path, project.path, 'board.json', 'board-link')
      await races.repeat(project.path, async () => [
        String((await readProjectFile(races.worktrees, unrecorded(project.path), 'board.json', 1000))?.content),
        await listSlashCommands(races.worktrees, unrecorded(project.path)),
      ])
    })
  },
)

/** Swaps each name in a folder with a link to this name outside. */
async function raceNames(root: string, folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    symlinkSync(join(races.outside, name), join(folder, `${name}-link`))
    await race(root, folder, name, `${name}-link`)
  }
}

describe.skipIf(!hasSandbox)('while a sandboxed program swaps', () => {
  test('parts of its Git folder, the transfers of commits and its removal read and write nothing outside', async () => {
    const { project } = await races.prepare()
    await races.repeat(project.path, async round => {
      const card = await project.card()
      const { cwd, branch } = await card.start()
      const place = { project: unrecorded(project.path), worktreePath: cwd, branch }
      const session = await openSession(races.worktrees, place)
      const tip = git(cwd, 'rev-parse', 'HEAD')
      if (round % 3 !== 1) session.run('echo work > work; git add work; git commit -qm Work')
      if (round % 3 !== 0)
        git(project.path, 'update-ref', `refs/heads/${branch}`, commit(project.path, 'theirs', `${round}`), tip)
      const shadow = (await shadowOf(await placeOf(project, cwd)))!
      await raceNames(shadow.common, shadow.common, ['HEAD', 'refs', 'objects'])
      const said = [
        await attempt(() => session.view.sync()),
        await attempt(() => races.worktrees.run('showOutside', { worktree: shadow, tip })),
        await attempt(() => races.worktrees.run('importTip', { worktree: shadow, tip })),
        await attempt(() => races.worktrees.run('dropTaken', { worktree: shadow })),
        await attempt(() => openGitView(races.worktrees, place)),
        await attempt(() => dropWorktree(races.worktrees, unrecorded(project.path), cwd, branch)),
      ]
      endRace()
      return said
    })
  })

  test('a submodule, a merge and a push of its commits read and write nothing outside', async () => {
    const { project, card, worktree, place, repository } = await races.prepare(
      [],
      path => void addSubmodule(path, 'one'),
    )
    write(project.path, '.git/info/exclude', '/remote-*\n/one-link\n')
    const library = createLibrary(join(races.outside, 'one'))
    commit(library, 'lib.txt', secret)
    gitOfUser(worktree, 'submodule', '--quiet', 'update', '--init')
    const commits = Array.from({ length: rounds }, (_, round) => commit(join(worktree, 'one'), 'lib.txt', `${round}`))
    const store = join(project.path, '.git/modules/one')
    await raceNames(worktree, worktree, ['one'])
    await races.repeat(
      project.path,
      async round => {
        const [path, commit] = ['one', commits[round]!]
        git(worktree, 'update-index', '--add', '--replace', '--cacheinfo', `160000,${commit},${path}`)
        const next = git(worktree, 'commit-tree', '-p', 'HEAD', '-m', 'Bump', git(worktree, 'write-tree'))
        git(worktree, 'update-ref', 'HEAD', next)
        return Promise.all([
          attempt(async () => races.worktrees.run('hasSubmoduleCommit', { worktree: await place(), path, commit })),
          attempt(async () =>
            races.worktrees.run('exportSubmodule', { worktree: await place(), submodule: { path, commit, store } }),
          ),
          attempt(() => findEmptySubmodules(races.worktrees, unrecorded(project.path), worktree)),
          attempt(() => card.merge()),
          attempt(async () =>
            requirePushedSubmodules(races.worktrees, await repository(), await place(), { from: null, to: next }),
          ),
        ])
      },
      rounds,
    )
    expect(objectsOf(store).includes(secret)).toBe(false)
  })

  test('large files of a remote in its worktree, a fetch and a push of them read and write nothing outside', async () => {
    const { project, worktree, repository } = await races.prepare()
    git(worktree, 'clone', '-q', '--bare', project.path, 'remote.git')
    const remote = createLocalRemote(races.worktrees)
    const [remotePath, store] = [join(worktree, 'remote.git'), join(project.path, '.git/lfs/objects')]
    const count = rounds + 200
    const [pushed, fetched] = ['pushed', 'fetched'].map(kind =>
      Array.from({ length: count }, (_, index) => {
        const content = `${kind} ${index}`
        const id = createHash('sha256').update(content).digest('hex')
        write(kind === 'pushed' ? store : join(remotePath, 'lfs/objects'), largeFilePlace(id), content)
        if (kind === 'fetched') write(join(races.outside, 'lfs/objects'), largeFilePlace(id), secret)
        return id
      }),
    )
    await raceNames(remotePath, remotePath, ['lfs'])
    await races.repeat(
      project.path,
      async round => [
        await attempt(async () => remote.pushLargeFiles(await repository(), remotePath, [pushed![round]!])),
        await attempt(async () => remote.fetchLargeFiles(await repository(), remotePath, [fetched![round]!])),
      ],
      count,
    )
    expect(listContent(store).filter(each => each.includes(secret))).toEqual([])
  })

  test('each operation on files that agents can change was raced', () => {
    // These two read only objects that the server has checked.
    const ofObjects = ['compareCommits', 'findLanded']
    expect([...races.raced, ...ofObjects].sort()).toEqual(Object.keys(operations).sort())
  })
})
