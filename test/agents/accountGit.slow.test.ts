import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeRepository, startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { sandboxes } from '../support/sandbox/bubblewrap.ts'

const git = (path: string, ...args: string[]) =>
  execFileSync('git', ['-C', path, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

describe.each(sandboxes)('with --sandbox %s', sandbox => {
  const isSandboxed = sandbox === 'require'
  let board: AgentBoard
  let home: string
  let path: string
  let projectId: string
  const before = { ...process.env }
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'board-account-'))
    process.env.HOME = home
    delete process.env.XDG_CONFIG_HOME
    delete process.env.GIT_CONFIG_GLOBAL
    board = await startAgentBoard({}, { sandbox })
  })
  afterAll(async () => {
    await board.close()
    for (const name of ['HOME', 'XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL']) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
    rmSync(home, { recursive: true })
  })
  const configure = (text: string) =>
    writeFileSync(join(home, '.gitconfig'), `[user]\nname = Ada\nemail = ada@example.org\n${text}`)
  beforeEach(async context => {
    configure('')
    rmSync(join(home, '.config/git'), { recursive: true, force: true })
    path = makeRepository(board.folder(`account-${context.task.id}`))
    projectId = (await board.client.projects.create({ name: context.task.name, path })).id
  })

  const signCommits = (scope: string) => {
    const program = join(home, 'signer')
    writeFileSync(program, '#!/bin/sh\ncat >/dev/null\necho signature\necho "[GNUPG:] SIG_CREATED " >&2\n')
    chmodSync(program, 0o700)
    git(path, 'config', '--global', 'gpg.program', program)
    git(path, 'config', scope, 'commit.gpgSign', 'true')
  }

  const run = async (command: string, input: { useWorktree?: boolean } = {}) => {
    const columnId = (await board.client.columns.list({ projectId }))[1]!.id
    const { id } = await board.client.cards.create({
      projectId,
      columnId,
      title: 'W',
      kind: 'terminal',
      command,
      ...input,
    })
    const card = () => board.client.cards.get({ projectId, cardId: id })
    let now: Card = await card()
    for (const end = Date.now() + 60_000; !['completed', 'failed'].includes(now.status); now = await card()) {
      if (Date.now() > end) throw new Error('The card does not end.')
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    const messages = await board.client.agents.messages({ projectId, cardId: id })
    return { id, branch: now.gitBranch!, status: now.status, said: JSON.stringify(messages) }
  }
  const files = (branch: string) => git(path, 'ls-tree', '-r', '--name-only', branch).split('\n').sort()
  const commitAll =
    'echo work > work; echo SECRET > .env.local; git add -A; git commit -qm Work; git status --porcelain'

  test.each([
    ['core.excludesFile', () => `[core]\nexcludesFile = ${join(home, 'ignored')}\n`, 'ignored'],
    ['the default file of ignored names', () => '', '.config/git/ignore'],
  ])('an agent ignores the files that %s of the account ignores', async (_, settings, file) => {
    mkdirSync(join(home, '.config/git'), { recursive: true })
    writeFileSync(join(home, file), '.env.local\n')
    configure(settings())
    expect(files((await run(commitAll)).branch)).toEqual(['README', 'work'])
    await run(commitAll, { useWorktree: false })
    expect(files('main')).toEqual(['README', 'work'])
  })

  test.runIf(isSandboxed)('an agent commits a copied file that is not ignored', async () => {
    writeFileSync(join(path, '.gitignore'), '.env.local\n')
    writeFileSync(join(path, '.env.local'), 'SECRET\n')
    await board.client.projects.update({ id: projectId, worktree: { copiedFiles: ['.env.local'] } })
    const { branch } = await run(
      'cat .env.local; echo work > work; git add -A; git commit -qm Work; git status --porcelain',
    )
    expect(files(branch)).toEqual(['README', 'work'])
  })

  test('settings for files, authors and messages come from the account', async () => {
    writeFileSync(join(home, 'template'), 'Reviewed-by: Ada\n')
    const settings = {
      'core.autocrlf': 'input',
      'core.eol': 'lf',
      'core.commentchar': ';',
      'core.whitespace': '-trailing-space,tab-in-indent',
      'user.email': 'ada@example.org',
      'author.email': 'author@example.org',
      'committer.name': 'Committer "C"',
      'init.defaultbranch': 'trunk',
      'commit.cleanup': 'verbatim',
      'merge.conflictstyle': 'diff3',
      'i18n.commitencoding': 'ISO-8859-1',
    }
    configure(`[commit]\ntemplate = ${join(home, 'template')}\n`)
    for (const [name, value] of Object.entries(settings)) git(path, 'config', '--global', name, value)
    const names = Object.keys(settings).join(' ')
    const { said } = await run(
      `for n in ${names}; do echo "$n=$(git config $n)."; done; cat "$(git config commit.template)"`,
    )
    for (const [name, value] of Object.entries(settings))
      expect(said).toContain(JSON.stringify(`${name}=${value}.`).slice(1, -1))
    expect(said).toContain('Reviewed-by: Ada')
  })

  test.runIf(isSandboxed)('settings that run programs or hold secrets do not come from the account', async () => {
    const settings = {
      'core.sshcommand': 'run-me',
      'core.hookspath': '/run-me',
      'core.fsmonitor': '/run-me',
      'core.editor': 'run-me',
      'core.pager': 'run-me',
      'core.askpass': 'run-me',
      'credential.helper': 'run-me',
      'gpg.program': 'run-me',
      'diff.external': 'run-me',
      'merge.own.driver': 'run-me',
      'alias.st': '!run-me',
      'http.extraheader': 'run-me',
      'url.run-me.insteadof': 'x',
      'user.signingkey': 'run-me',
      'init.templatedir': '/run-me',
      'trailer.x.command': 'run-me',
      'i18n.logoutputencoding': 'utf-8',
    }
    for (const [name, value] of Object.entries(settings)) git(path, 'config', '--global', name, value)
    const { status, said } = await run('git config --list; git config i18n.logoutputencoding')
    expect([status, said.includes('run-me'), said.includes('utf-8')]).toEqual(['completed', false, true])
  })

  test.each([
    ['account', '--global'],
    ['repository', '--local'],
  ])(
    'signatures of the %s are reported before an agent starts in the sandbox, and its commits work',
    async (_, scope) => {
      signCommits(scope)
      const { id, branch, status, said } = await run(
        'echo work > work; git add -A; git commit -qm Work && git tag -a v -m v',
      )
      expect(status).toBe('completed')
      expect(said.includes('commits of the agent have no signature')).toBe(isSandboxed)
      expect(git(path, 'cat-file', 'commit', branch).includes('gpgsig')).toBe(!isSandboxed)
      await board.client.agents.merge({ projectId, cardId: id })
      expect(git(path, 'cat-file', 'commit', 'main')).toContain('gpgsig signature')
      expect((await run('true')).said.includes('signature')).toBe(isSandboxed)
    },
  )

  test.each(['merge', 'rebase'] as const)('an update by %s signs its commits', async strategy => {
    signCommits('--global')
    const { id, branch } = await run('echo work > work; git add -A; git commit -qm Work; echo more > more')
    writeFileSync(join(path, 'other'), 'other\n')
    git(path, 'add', '.')
    git(path, 'commit', '-qm', 'Other')
    expect(await board.client.branches.update({ projectId, cardId: id, strategy })).toMatchObject({ updated: true })
    // A merge keeps the commit of the agent, which a rebase replaces.
    const kept = strategy === 'merge' ? ['--invert-grep', '--grep=^Work$'] : []
    const made = git(path, 'rev-list', ...kept, `main..${branch}`).split('\n')
    expect(made).toHaveLength(2)
    for (const commit of made) expect(git(path, 'cat-file', 'commit', commit)).toContain('gpgsig signature')
  })

  test('without signatures, no report is sent', async () => {
    expect((await run('true')).said).not.toContain('signature')
  })
})
