import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { createCommandCards, type CommandCard, type CommandProject } from '../support/agents/commandCards.ts'
import { addSubmodule, commitIn, createLibrary, fill, git } from '../support/git/submodules.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'

describe.each(hasBubblewrap ? (['require', 'off'] as const) : (['off'] as const))('with --sandbox %s', sandbox => {
  let board: AgentBoard
  let cards: ReturnType<typeof createCommandCards>
  beforeAll(async () => {
    board = await startAgentBoard({}, { sandbox })
    cards = createCommandCards(board)
  })
  afterAll(() => board.close())

  type Project = CommandProject & { path: string }
  const newProject = (folder = 'libs/lib', name = folder) =>
    cards.project(path => void addSubmodule(path, folder, name))
  const place = ({ projectId }: CommandProject, { id }: CommandCard) => ({ projectId, cardId: id })
  const worktreeOf = ({ projectId }: CommandProject, { id }: CommandCard) =>
    join(board.path, '../data/worktrees', projectId, id)
  const run = async (project: Project, ...script: string[]) => {
    const card = await cards.run(project, script.join(' && '))
    expect(card.said).not.toMatch(/fatal|error:/)
    expect(card.status).toBe('completed')
    return card
  }
  /** Updates the submodules of a folder without their remotes, and returns the newest line in one of them. */
  const updated = ({ path }: Project, folder: string) => {
    for (const name of ['remote-libs-lib', 'remote-deep']) rmSync(join(path, name), { recursive: true, force: true })
    git(path, 'submodule', '--quiet', 'update', '--recursive')
    expect(git(path, 'status', '--short')).toBe('')
    return readFileSync(join(path, folder, 'lib.txt'), 'utf8')
      .trim()
      .split('\n')
      .at(-1)
  }
  const refusal = (message: string | RegExp) => ({
    code: 'CONFLICT',
    message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  })
  const stays = async (project: Project, card: CommandCard, message: string | RegExp) => {
    const before = git(project.path, 'rev-parse', 'HEAD')
    await expect(cards.merge(project, card)).rejects.toMatchObject(refusal(message))
    expect(git(project.path, 'rev-parse', 'HEAD')).toBe(before)
    expect(git(project.path, 'status', '--short')).toBe('')
  }

  describe('a merge brings a commit of a submodule that only the worktree has', () => {
    test.each<[what: string, bump: string, squash: boolean, name?: string]>([
      ['if the repository does not refer to it yet', 'true', false],
      ['if it is staged', 'git add .', false],
      ['if the branch refers to it', 'git commit -qam Bump', false],
      ['by a squash', 'git commit -qam Bump', true],
      ['if the submodule has another name than its folder', 'git commit -qam Bump', false, 'some library'],
    ])('%s', async (_, bump, squash, name) => {
      const project = await newProject('libs/lib', name)
      const card = await run(project, fill, commitIn('libs/lib', 'one'), commitIn('libs/lib', 'two'), bump)
      expect(await board.client.agents.merge({ ...place(project, card), squash })).toMatchObject({ merged: true })
      expect(updated(project, 'libs/lib')).toBe('two')
      // The commits are kept elsewhere, so the card can be deleted.
      await board.client.cards.delete(place(project, card))
      git(join(project.path, 'libs/lib'), 'reflog', 'expire', '--expire=now', '--all')
      git(join(project.path, 'libs/lib'), 'checkout', '-q', 'HEAD^^')
      git(join(project.path, 'libs/lib'), 'gc', '--quiet', '--prune=now')
      expect(updated(project, 'libs/lib')).toBe('two')
    })

    test('and of a submodule in it', async () => {
      const project = await cards.project(path => {
        addSubmodule(addSubmodule(path, 'libs/lib'), 'deep')
        git(path, 'submodule', '--quiet', 'update', '--remote')
        git(path, 'commit', '-qam', 'Newer')
        git(path, 'submodule', '--quiet', 'update', '--init', '--recursive')
      })
      const card = await run(
        project,
        fill,
        commitIn('libs/lib/deep', 'deep'),
        '(cd libs/lib && git commit -qam Deep)',
        'git commit -qam Bump',
      )
      await cards.merge(project, card)
      expect(updated(project, 'libs/lib/deep')).toBe('deep')
      await board.client.cards.delete(place(project, card))
    })

    test('one after the other, also while the submodule of the folder is not updated', async () => {
      const project = await newProject()
      const first = await run(project, fill, commitIn('libs/lib', 'one'), 'git commit -qam One')
      await cards.merge(project, first)
      const other = await run(project, 'echo b > b.txt')
      await cards.merge(project, other)
      expect(existsSync(join(project.path, 'b.txt'))).toBe(true)
      expect(updated(project, 'libs/lib')).toBe('one')
    })

    test('if the Git folder of the project is elsewhere', async () => {
      const project = await cards.project(path => {
        git(path, 'init', '-q', '--separate-git-dir', `${path}.gitdir`)
        addSubmodule(path, 'libs/lib')
      })
      const card = await run(project, fill, commitIn('libs/lib', 'inner'))
      await cards.merge(project, card)
      expect(updated(project, 'libs/lib')).toBe('inner')
    })

    test('if the branch is checked out in a worktree of a bare repository', async () => {
      let main = ''
      const project = await cards.project(path => {
        git(addSubmodule(path, 'libs/lib'), 'bundle', 'create', '-q', join(path, 'lib.bundle'), '--all')
        git(path, 'add', '.')
        git(path, 'commit', '-qm', 'Bundle')
        const bare = `${path}-bare`
        execFileSync('git', ['clone', '-q', '--bare', path, join(bare, 'repository.git')])
        main = join(bare, 'main')
        git(join(bare, 'repository.git'), 'worktree', 'add', '-q', main, 'main')
        git(main, 'submodule', '--quiet', 'update', '--init')
        return join(bare, 'repository.git')
      })
      // In the sandbox, the remote is not visible.
      const bundle = `git config submodule.libs/lib.url "$PWD/lib.bundle" && ${fill} && git rm -qf lib.bundle`
      const card = await run(project, bundle, commitIn('libs/lib', 'inner'))
      await cards.merge(project, card)
      git(main, 'submodule', '--quiet', 'update')
      expect(readFileSync(join(main, 'libs/lib/lib.txt'), 'utf8')).toBe('lib\ninner\n')
      expect(git(main, 'status', '--short')).toBe('')
      await board.client.cards.delete(place(project, card))
    })
  })

  describe('a merge is refused', () => {
    test.each<[what: string, script: string[], message: string]>([
      [
        'a changed file',
        ['echo more >> libs/lib/lib.txt'],
        'The submodule libs/lib has changes that are not committed, in lib.txt.',
      ],
      ['a new file', ['echo new > libs/lib/new.txt'], 'in new.txt'],
      ['a changed file next to a commit', [commitIn('libs/lib'), 'echo new > libs/lib/new.txt'], 'in new.txt'],
      ['a repository inside', ['git init -q libs/lib/own', 'touch libs/lib/own/a'], 'in own/'],
    ])('if a submodule has %s', async (_, script, message) => {
      const project = await newProject()
      const card = await run(project, fill, 'echo b > b.txt', ...script)
      await stays(project, card, message)
    })

    test('if a folder is a repository and not a submodule, until it is ignored', async () => {
      const project = await newProject()
      const card = await run(project, 'git init -q vendor', 'echo x > vendor/x', 'echo b > b.txt')
      await stays(project, card, 'The folder vendor is a Git repository and not a submodule')
      appendFileSync(join(worktreeOf(project, card), '.gitignore'), 'vendor/\n')
      await cards.merge(project, card)
    })

    test('if the branch refers to a repository that .gitmodules does not list', async () => {
      const project = await newProject()
      const init = 'git init -q vendor && (cd vendor && echo x > x && git add . && git commit -qm x)'
      const card = await run(project, init, 'git add vendor 2>/dev/null', 'git commit -qm Vendor')
      await stays(
        project,
        card,
        /commit [0-9a-f]{12} of a repository in the folder vendor, which \.gitmodules does not list/,
      )
    })

    test('if the project folder has no such submodule, until the commit is pushed', async () => {
      const project = await cards.project(path => {
        createLibrary(join(path, 'remote-new'))
        git(join(path, 'remote-new'), 'config', 'receive.denyCurrentBranch', 'ignore')
        appendFileSync(join(path, '.git/info/exclude'), '/remote-*\n')
      })
      const add = `git -c protocol.file.allow=always submodule --quiet add ${join(project.path, 'remote-new')} new`
      const plain = await run(project, add)
      await cards.merge(project, plain)
      git(project.path, 'submodule', 'deinit', '--quiet', '--all')
      rmSync(join(project.path, '.git/modules'), { recursive: true, force: true })
      const card = await run(project, fill, commitIn('new'))
      const worktree = worktreeOf(project, card)
      const commit = git(join(worktree, 'new'), 'rev-parse', 'HEAD')
      const command = `git -C ${join(worktree, 'new')} push origin ${commit}:refs/heads/NAME`
      await stays(project, card, command)
      execFileSync('sh', ['-c', command.replace('NAME', 'work')], { stdio: 'ignore' })
      await cards.merge(project, card)
      git(project.path, 'submodule', '--quiet', 'update', '--init')
      expect(readFileSync(join(project.path, 'new/lib.txt'), 'utf8')).toBe('lib\ninner\n')
    })

    test('if the project folder has the repository of the submodule in its files, until the commit is fetched', async () => {
      const project = await cards.project(path => {
        addSubmodule(path, 'libs/lib')
        rmSync(join(path, 'libs/lib/.git'))
        renameSync(join(path, '.git/modules/libs/lib'), join(path, 'libs/lib/.git'))
        git(path, 'config', '--file', 'libs/lib/.git/config', '--unset', 'core.worktree')
      })
      const card = await run(project, fill, commitIn('libs/lib'))
      const worktree = worktreeOf(project, card)
      const commit = git(join(worktree, 'libs/lib'), 'rev-parse', 'HEAD')
      const command = `git -C ${join(project.path, 'libs/lib')} fetch ${join(worktree, 'libs/lib')} ${commit}`
      await stays(project, card, command)
      execFileSync('sh', ['-c', command], { stdio: 'ignore' })
      await cards.merge(project, card)
    })

    test('if the worktree was deleted and the commit is missing', async () => {
      const project = await newProject()
      const card = await run(project, fill, commitIn('libs/lib'), 'git commit -qam Bump')
      // Takes over the commits of the agent.
      await cards.diff(project, card)
      rmSync(worktreeOf(project, card), { recursive: true })
      await stays(project, card, /The submodule libs\/lib is at the commit [0-9a-f]{12}, which neither/)
    })

    test('with a conflict if both sides refer to other commits', async () => {
      const project = await newProject()
      const cardsOf = [
        await run(project, fill, commitIn('libs/lib', 'one')),
        await run(project, fill, commitIn('libs/lib', 'two')),
      ]
      await cards.merge(project, cardsOf[0]!)
      await expect(cards.merge(project, cardsOf[1]!)).rejects.toMatchObject({
        code: 'MERGE_CONFLICT',
        message: expect.stringContaining('libs/lib'),
      })
    })
  })

  describe('an agent cannot', () => {
    test.each(['../../../hooks', 'a/../../x', '/etc', '..'])(
      'let a name in .gitmodules lead out of the Git folder: %s',
      async name => {
        const project = await newProject()
        const rename = `sed -i 's|submodule "libs/lib"|submodule "${name}"|' .gitmodules`
        const card = await cards.run(project, `${fill} && ${commitIn('libs/lib')} && ${rename} && git commit -qam Bump`)
        const before = git(project.path, 'rev-parse', 'main')
        await expect(cards.merge(project, card)).rejects.toMatchObject({ code: 'CONFLICT' })
        expect(git(project.path, 'rev-parse', 'main')).toBe(before)
      },
    )

    test.runIf(sandbox === 'require').each<[what: string, link: (secret: string) => string]>([
      ['a Git file', secret => `mkdir fake && echo "gitdir: ${secret}" > fake/.git`],
      [
        'a common folder',
        secret =>
          `git init -q -b main fake && rm -rf fake/.git/refs fake/.git/objects fake/.git/config && echo ${secret} > fake/.git/commondir`,
      ],
      [
        'alternates',
        secret =>
          `git init -q -b main fake && echo ${secret}/objects > fake/.git/objects/info/alternates && cp commit fake/.git/refs/heads/main`,
      ],
    ])('show a submodule of another card in its diff by %s', async (_, link) => {
      const project = await newProject()
      const other = await run(project, fill, commitIn('libs/lib', 'confidential'))
      const secret = join(project.path, '.git/worktrees', other.id, 'modules/libs/lib')
      const commit = git(join(worktreeOf(project, other), 'libs/lib'), 'rev-parse', 'HEAD')
      const card = await cards.run(project, `echo ${commit} > commit; ${link(secret)}; touch fake/more.txt`)
      const diff = await cards.diff(project, card).catch(({ message }: Error) => message)
      expect(diff).not.toContain('confidential')
    })
  })

  describe('a push', () => {
    const withRemote = (project: Project) => {
      execFileSync('git', ['init', '-q', '--bare', `${project.path}.git`])
      git(project.path, 'remote', 'add', 'origin', `file://${project.path}.git`)
      git(project.path, 'push', '-q', 'origin', 'main')
    }

    test('is refused until the remote of a submodule has its commit', async () => {
      const project = await newProject()
      withRemote(project)
      const card = await run(project, fill, commitIn('libs/lib'))
      const worktree = join(worktreeOf(project, card), 'libs/lib')
      const command = `git -C ${worktree} push origin ${git(worktree, 'rev-parse', 'HEAD')}:refs/heads/NAME`
      const push = () => board.client.branches.push(place(project, card))
      await expect(push()).rejects.toMatchObject(refusal(command))
      expect(git(`${project.path}.git`, 'branch', '--list', 'board/*')).toBe('')
      execFileSync('sh', ['-c', command.replace('NAME', 'work')], { stdio: 'ignore' })
      expect(await push()).toMatchObject({ pushed: true })
    })

    test('names the submodule of the project folder after a merge', async () => {
      const project = await newProject()
      withRemote(project)
      const card = await run(project, fill, commitIn('libs/lib'))
      await cards.merge(project, card)
      const message = `git -C ${join(project.path, 'libs/lib')} push origin`
      await expect(board.client.branches.push(place(project, card))).rejects.toMatchObject(refusal(message))
    })

    test('is refused with uncommitted changes in a submodule', async () => {
      const project = await newProject()
      withRemote(project)
      const card = await run(project, fill, 'echo more >> libs/lib/lib.txt', 'echo b > b.txt')
      const message = 'The submodule libs/lib has changes that are not committed'
      await expect(board.client.branches.push(place(project, card))).rejects.toMatchObject(refusal(message))
    })

    test('works if the card changes no submodule', async () => {
      const project = await newProject()
      withRemote(project)
      const card = await run(project, fill, 'echo b > b.txt')
      expect(await board.client.branches.push(place(project, card))).toMatchObject({ pushed: true })
    })
  })

  describe('a merge works', () => {
    test('and an update of the branch, with uncommitted changes in a submodule', async () => {
      const project = await newProject()
      const card = await run(project, fill, 'echo b > b.txt', 'echo new > libs/lib/new.txt')
      git(project.path, 'commit', '-q', '--allow-empty', '-m', 'Newer')
      expect(await board.client.branches.update(place(project, card))).toMatchObject({ updated: true })
      expect(existsSync(join(worktreeOf(project, card), 'libs/lib/new.txt'))).toBe(true)
      rmSync(join(worktreeOf(project, card), 'libs/lib/new.txt'))
      expect(await cards.merge(project, card)).toMatchObject({ merged: true })
    })

    test.each<[what: string, script: string[]]>([
      ['removed', ['git rm -q libs/lib']],
      ['deleted', ['rm -rf libs/lib', 'git config --file .gitmodules --remove-section submodule.libs/lib']],
      ['moved', [fill, 'git mv libs/lib moved']],
      ['replaced by a folder', ['git rm -q libs/lib', 'mkdir libs/lib', 'echo x > libs/lib/own.txt']],
    ])('if a submodule was %s', async (_, script) => {
      const project = await newProject()
      // Otherwise, Git does not replace the folder.
      git(project.path, 'submodule', 'deinit', '--quiet', 'libs/lib')
      const card = await run(project, ...script)
      expect(await cards.merge(project, card)).toMatchObject({ merged: true })
      expect(git(project.path, 'status', '--short')).toBe('')
    })

    test.each(['untracked', 'dirty'])('if .gitmodules ignores changes of a submodule: %s', async ignore => {
      const project = await cards.project(path => {
        addSubmodule(path, 'libs/lib')
        git(path, 'config', '--file', '.gitmodules', 'submodule.libs/lib.ignore', ignore)
        git(path, 'commit', '-qam', 'Ignore')
      })
      const card = await run(project, fill, 'echo b > b.txt', 'echo new > libs/lib/new.txt')
      expect(await cards.merge(project, card)).toMatchObject({ merged: true })
    })

    test('if a commit of the remote refers to a commit that is not fetched', async () => {
      const project = await newProject()
      const around = `${project.path}-around`
      execFileSync('git', ['clone', '-q', project.path, around])
      git(around, 'submodule', '--quiet', 'update', '--init')
      execFileSync('sh', ['-c', commitIn('libs/lib', 'upstream')], { cwd: around })
      git(around, 'commit', '-qam', 'Upstream')
      git(project.path, 'remote', 'add', 'origin', around)
      git(project.path, 'fetch', '-q', '--no-recurse-submodules', 'origin')
      const card = await run(project, 'git merge -q origin/main', 'echo b > b.txt')
      expect(await cards.merge(project, card)).toMatchObject({ merged: true })
    })
  })
})
