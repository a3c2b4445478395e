import { renameSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { diffFiles } from '../../src/contract/forges/diffFiles.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { createCommandCards, type CommandCard, type CommandProject } from '../support/agents/commandCards.ts'
import { addSubmodule, commitIn, fill, git, libraryOf } from '../support/git/submodules.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'

describe.each(hasBubblewrap ? (['require', 'off'] as const) : (['off'] as const))('with --sandbox %s', sandbox => {
  let board: AgentBoard
  let cards: ReturnType<typeof createCommandCards>
  beforeAll(async () => {
    board = await startAgentBoard({}, { sandbox })
    cards = createCommandCards(board)
  })
  afterAll(() => board.close())

  const newProject = (folder = 'libs/lib', name = folder) =>
    cards.project(path => void addSubmodule(path, folder, name))
  const pathsOf = async (project: CommandProject, card: CommandCard) =>
    diffFiles(await cards.diff(project, card)).map(({ path }) => path)

  describe('the transcript of a new worktree', () => {
    const note =
      "The worktree has empty submodules: libs/lib. To fill them in each new worktree, add this command to the project's setup: git "
    const fillAll = 'submodule update --init --recursive'
    const commandIn = (said: string) => /setup: (git .*? --recursive) \(/.exec(JSON.parse(said)[0].content)![1]!

    test('names empty submodules, with the command that fills them from the remote', async () => {
      const project = await newProject()
      git(project.path, 'config', 'submodule.libs/lib.url', 'https://example.org/lib.git')
      expect((await cards.run(project, 'true')).said).toContain(`${note}${fillAll} (board`)
    })

    test.each(['libs/lib', "it's a lib"])(
      'names a command that needs no remote, if the sandbox does not reach the remote of %j',
      async folder => {
        const project = await newProject(folder)
        renameSync(libraryOf(project.path, folder), `${libraryOf(project.path, folder)}-moved`)
        const setup = commandIn((await cards.run(project, 'true')).said)
        await board.client.projects.update({ id: project.projectId, worktree: { setup } })
        const card = await cards.run(project, `cat "${folder}/lib.txt"`)
        expect(card.said).toContain('lib\\n')
        expect(card.said).not.toContain('empty submodules')
      },
    )

    test.each(['setup', 'beforeRun'])('does not name submodules if %s fills them', async which => {
      const project = await newProject()
      await board.client.projects.update({ id: project.projectId, worktree: { [which]: fill } })
      const card = await cards.run(project, 'cat libs/lib/lib.txt')
      expect(card.said).toContain('lib\\n')
      expect(card.said).not.toContain('empty submodules')
    })

    test('names the submodules that setup does not fill', async () => {
      const project = await cards.project(path => {
        addSubmodule(path, 'libs/lib')
        addSubmodule(path, 'other')
      })
      const worktree = { setup: `${fill.replace(' --recursive', '')} other` }
      await board.client.projects.update({ id: project.projectId, worktree })
      expect((await cards.run(project, 'true')).said).toContain(note)
    })

    test('does not name submodules if there are none, or if .gitmodules turns their update off', async () => {
      const plain = await cards.project()
      const unused = await cards.project(path => {
        addSubmodule(path, 'libs/lib')
        git(path, 'config', '--file', '.gitmodules', 'submodule.libs/lib.update', 'none')
        git(path, 'commit', '-qam', 'Leave it')
      })
      for (const project of [plain, unused])
        expect((await cards.run(project, 'true')).said).not.toContain('empty submodules')
    })

    test('names empty submodules of a further repository, with a command for it', async () => {
      const own = await cards.project()
      const other = await newProject()
      const repositories = [{ name: 'lib', path: other.path }]
      const { id: projectId } = await board.client.projects.create({ name: 'Both', path: own.path, repositories })
      const columns = await board.client.columns.list({ projectId })
      const card = await cards.run({ projectId, columnId: columns[1]!.id }, 'true')
      expect(JSON.parse(card.said)).toContainEqual(
        expect.objectContaining({ content: expect.stringMatching(/: cd "\$BOARD_REPOSITORIES\/lib" && git .*update/) }),
      )
    })
  })

  describe('the diff', () => {
    test('has a commit in a submodule that the repository does not refer to', async () => {
      const project = await newProject()
      const card = await cards.run(project, `${fill} && ${commitIn('libs/lib')}`)
      expect(card.status).toBe('completed')
      const diff = await cards.diff(project, card)
      expect(diff).toMatch(/^-Subproject commit [0-9a-f]{40}\n\+Subproject commit [0-9a-f]{40}$/m)
      expect(await pathsOf(project, card)).toEqual(['libs/lib'])
    })

    test.each<[what: string, script: string, line: string, paths: string[]]>([
      ['a changed file', 'echo more >> libs/lib/lib.txt', '+more', ['libs/lib/lib.txt']],
      ['a staged file', 'echo more >> libs/lib/lib.txt; git -C libs/lib add .', '+more', ['libs/lib/lib.txt']],
      ['a new file', 'echo new > libs/lib/new.txt', '+new', ['libs/lib/new.txt']],
      [
        'a new file after a commit',
        `${commitIn('libs/lib')}; echo new > libs/lib/new.txt`,
        '+new',
        ['libs/lib', 'libs/lib/new.txt'],
      ],
      [
        'a file after a commit that the repository refers to',
        `${commitIn('libs/lib')}; git commit -qam Inner; echo more >> libs/lib/lib.txt`,
        '+more',
        ['libs/lib', 'libs/lib/lib.txt'],
      ],
      [
        'a file without a .git',
        'rm libs/lib/.git; echo more > libs/lib/more.txt',
        '+more',
        ['libs/lib/lib.txt', 'libs/lib/more.txt'],
      ],
    ])('has %s of a submodule', async (_, script, line, paths) => {
      const project = await newProject()
      const card = await cards.run(project, `${fill} && ${script}`)
      expect(card.status).toBe('completed')
      expect(await cards.diff(project, card)).toContain(`\n${line}\n`)
      expect(await pathsOf(project, card)).toEqual(paths)
      const path = paths.at(-1)!
      const place = { projectId: project.projectId, cardId: card.id }
      const { content } = await board.client.reviews.changedFile({ ...place, path })
      expect(Buffer.from(content, 'base64').toString()).toContain(line.slice(1))
    })

    test('has changes in a submodule of a submodule', async () => {
      const project = await cards.project(path => {
        const library = addSubmodule(path, 'libs/lib')
        addSubmodule(library, 'deep')
        git(path, 'submodule', '--quiet', 'update', '--remote')
        git(path, 'commit', '-qam', 'Newer')
      })
      const card = await cards.run(
        project,
        `${fill} && ${commitIn('libs/lib/deep')} && echo more > libs/lib/deep/more.txt`,
      )
      expect(card.status).toBe('completed')
      expect(await pathsOf(project, card)).toEqual(['libs/lib/deep/more.txt', 'libs/lib/deep'])
    })

    test('has a repository in a folder, with a commit or without one', async () => {
      const project = await cards.project()
      const init = 'git init -q vendor && cd vendor && echo vendor > vendor.txt'
      const without = await cards.run(project, init)
      expect(await pathsOf(project, without)).toEqual(['vendor/vendor.txt'])
      const card = await cards.run(project, `${init} && git add . && git commit -qm Vendor && echo more > more.txt`)
      expect(await pathsOf(project, card)).toEqual(['vendor', 'vendor/more.txt'])
      expect(await cards.diff(project, card)).toMatch(/^\+Subproject commit [0-9a-f]{40}$/m)
    })

    test('shows the changes around a repository that Git cannot read', async () => {
      const project = await newProject()
      const card = await cards.run(
        project,
        `${fill}; rm -rf "$(git -C libs/lib rev-parse --git-dir)/objects"; echo b > b.txt`,
      )
      expect(await pathsOf(project, card)).toContain('b.txt')
    })

    test('is read without a program that a repository inside names', async () => {
      const project = await newProject()
      const settings = [
        'core.fsmonitor',
        'core.sshCommand',
        'diff.external',
        'filter.bait.clean',
        'core.alternateRefsCommand',
      ]
      const script = [
        fill,
        'cd libs/lib',
        'printf "#!/bin/sh\ntouch $PWD/../../ran\ncat\n" > bait.sh',
        'chmod +x bait.sh',
        'echo "* filter=bait diff=bait" > .gitattributes',
        ...settings.map(name => `git config ${name} "$PWD/bait.sh"`),
        'mkdir -p "$(git rev-parse --git-dir)/hooks"',
        'for hook in post-index-change pre-commit reference-transaction; do cp bait.sh "$(git rev-parse --git-dir)/hooks/$hook"; done',
        'echo more >> lib.txt',
        'rm -f ../../ran',
      ].join(' && ')
      const card = await cards.run(project, script)
      expect(card.status).toBe('completed')
      expect(await pathsOf(project, card)).toEqual(['libs/lib/.gitattributes', 'libs/lib/bait.sh', 'libs/lib/lib.txt'])
    })

    test('is empty if the submodules are empty, or as the commit has them', async () => {
      const project = await newProject()
      for (const script of ['true', fill]) expect(await cards.diff(project, await cards.run(project, script))).toBe('')
    })

    test('has changes of a submodule in the project folder', async () => {
      const project = await newProject()
      const card = await cards.run(project, 'echo more >> libs/lib/lib.txt', { useWorktree: false })
      expect(await pathsOf(project, card)).toEqual(['libs/lib/lib.txt'])
    })
  })
})
