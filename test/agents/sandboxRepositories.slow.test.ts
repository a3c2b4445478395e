import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeRepository, startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'

const git = (path: string, ...args: string[]) => execFileSync('git', ['-C', path, ...args], { encoding: 'utf8' }).trim()

describe.skipIf(!hasBubblewrap)('in the sandbox', () => {
  let board: AgentBoard
  let lib: string
  let own: string
  beforeAll(async () => {
    board = await startAgentBoard({ asks: { fixture: 'permission-first' } }, { sandbox: 'require' })
    lib = makeRepository(board.folder('lib'))
    own = makeRepository(board.folder('own'))
    await board.client.projects.update({
      id: board.projectId,
      repositories: [
        { name: 'lib', path: lib },
        { name: 'own', path: own },
      ],
    })
  })
  afterAll(() => board.close())

  /** Runs a script on a card. Fails if the script fails, unless the script allows it. */
  const run = async (command: string, input: { useWorktree?: boolean } = {}): Promise<Card & { said: string }> => {
    const { id } = await board.client.cards.create({
      projectId: board.projectId,
      title: 'Shell',
      kind: 'terminal',
      command,
      columnId: board.columns.active,
      ...input,
    })
    const card = await board.until(id, 'an end', ({ status }) => ['completed', 'failed'].includes(status), 60_000)
    const said = (await board.messages(id)).map(({ content }) => content).join('\n')
    expect(card.status, said).toBe('completed')
    return { ...card, said }
  }
  const worktree = ({ id }: Card, name: string) =>
    join(board.dataDir, 'worktrees', board.projectId, `${id}.repositories`, name)

  test('an agent can work in each worktree, and its commits reach only its own branch', async () => {
    const card = await run(
      [
        'set -e',
        'cd "$BOARD_REPOSITORIES/lib"',
        'echo mine > mine; git add mine; git -c user.name=A -c user.email=a@example.org commit -q -m "In lib"',
        'git update-ref refs/heads/main HEAD; git config core.hooksPath /tmp/evil',
        'cd ../own; echo more > more',
      ].join('; '),
    )
    const branch = card.gitBranch!
    expect(git(lib, 'log', '-1', '--format=%s', branch)).toBe('In lib')
    expect(git(lib, 'log', '-1', '--format=%s', 'main')).toBe('Begin')
    expect(git(lib, 'config', '--get', '--default', 'none', 'core.hooksPath')).toBe('none')
    expect(readFileSync(join(worktree(card, 'own'), 'more'), 'utf8')).toBe('more\n')
    expect(git(worktree(card, 'lib'), 'status', '--porcelain')).toBe('')
    const listed = await board.client.branches.repositories({ projectId: board.projectId, cardId: card.id })
    expect(listed.map(({ name, touched }) => [name, touched])).toEqual([
      ['', false],
      ['lib', true],
      ['own', true],
    ])
    expect(
      (await board.client.agents.merge({ projectId: board.projectId, cardId: card.id })).repositories,
    ).toHaveLength(2)
    expect([existsSync(join(lib, 'mine')), existsSync(join(own, 'more'))]).toEqual([true, true])
  })

  test('the repositories and the worktrees of other cards are read-only or hidden', async () => {
    const other = await run('true')
    const tried = [
      `${lib}/README`,
      `${lib}/.git/config`,
      `${lib}/.git/hooks/post-commit`,
      `${lib}/.git/refs/heads/evil`,
      `${lib}/.git/objects/evil`,
      `${worktree(other, 'lib')}/evil`,
      `${worktree(other, 'lib')}/.git`,
    ]
    const card = await run(
      [
        `cat ${lib}/README`,
        ...tried.map(path => `echo evil >> ${path}; rm -rf ${path}; mv ${path} ${path}-away`),
        `ln -s ${lib} "$BOARD_REPOSITORIES/evil"; mv "$BOARD_REPOSITORIES/lib" "$BOARD_REPOSITORIES/away"`,
        `rm -rf "$BOARD_REPOSITORIES/lib/.git"; true`,
      ].join('; '),
    )
    expect(card.said).toContain('A repository.')
    expect(readFileSync(join(lib, 'README'), 'utf8')).toBe('A repository.\n')
    expect(readFileSync(join(lib, '.git/config'), 'utf8')).not.toContain('evil')
    for (const path of tried.slice(2, 6)) expect(existsSync(path), path).toBe(false)
    expect(git(worktree(other, 'lib'), 'status', '--porcelain')).toBe('')
    expect(git(lib, 'branch', '--list', 'evil')).toBe('')
    expect(existsSync(join(worktree(card, 'lib'), '.git'))).toBe(true)
    expect(existsSync(join(worktree(card, 'evil')))).toBe(false)
  })

  test('without a worktree the repositories are read-only', async () => {
    const card = await run(`cat ${lib}/README; echo evil > ${lib}/evil; true`, { useWorktree: false })
    expect(card.said).toContain('A repository.')
    expect(existsSync(join(lib, 'evil'))).toBe(false)
  })
})
