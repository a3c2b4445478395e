import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

describe('where no agent is installed', () => {
  let board: TestBoard
  let cli: CommandLine
  let projectId: string
  let columns: { backlog: string; active: string }
  beforeAll(async () => {
    board = await startBoard()
    projectId = (await board.client.projects.create({ name: 'Plain', path: board.folder('plain') })).id
    const [backlog, active] = (await board.client.columns.list({ projectId })).map(({ id }) => id) as [string, string]
    columns = { backlog, active }
    cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
  })
  afterAll(async () => {
    cli.close()
    await board.close()
  })
  const newCard = async () => (await board.client.cards.create({ projectId, title: 'Work' })).id
  const columnOf = async (cardId: string) => (await board.client.cards.get({ projectId, cardId })).columnId

  test('a move into an active column reports that no agent started, and how to install one', async () => {
    const id = await newCard()
    const { code, stdout, stderr } = await cli.board(['cards', 'move', id, '--to', 'In Progress'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${id}\tmoved\n` })
    expect(stderr).toMatch(
      new RegExp(
        `^warning: card ${id} was moved, and no agent started: no agent is installed on the server\\. To install one, for example .*npm install -g \\S+ \\(see: board agents providers\\)\\n$`,
      ),
    )
    expect(await columnOf(id)).toBe(columns.active)
    expect((await cli.board(['cards', 'move', id, '--to', 'backlog'])).stderr).toBe('')
  })

  test('cards run reports it and moves no card', async () => {
    const id = await newCard()
    const { code, stdout, stderr } = await cli.board(['cards', 'run', id])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(
      /^board: no agent is installed on the server\. To install one, for example .*\nsee: board agents providers\n$/,
    )
    expect(await columnOf(id)).toBe(columns.backlog)
  })

  test('a move that asks before it starts several agents, and a dry run, state that none is installed', async () => {
    const ids = [await newCard(), await newCard()]
    const warning =
      /warning: no agent is installed on the server, so no agent starts\. To install \S.*: .*npm install -g \S+ \(see: board agents providers\)\n/
    const asked = await cli.board(['cards', 'move', ...ids, '--to', 'In Progress'])
    expect(asked).toMatchObject({ code: 2, stdout: '' })
    expect(asked.stderr).toMatch(warning)
    const dry = await cli.board(['cards', 'move', ...ids, '--to', 'In Progress', '--dry-run'])
    expect(dry.stderr).toMatch(/^2 agents would start\.\n/)
    expect(dry.stderr).toMatch(warning)
    expect(await columnOf(ids[0]!)).toBe(columns.backlog)
  })

  test('cards add --run adds no card and explains how to install an agent', async () => {
    const before = await board.client.cards.list({ projectId })
    const { code, stderr } = await cli.board(['cards', 'add', 'Never added', '--run'])
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^board: no agent is installed on the server\. To install one, for example .*\nsee: board agents providers\n$/,
    )
    expect(await board.client.cards.list({ projectId })).toHaveLength(before.length)
  })

  test('a move that requires a start is rejected as a whole, also over HTTP', async () => {
    const cardId = await newCard()
    const move = (columnId: string) => board.client.cards.move({ projectId, cardId, columnId, mustStart: true })
    await expect(move(columns.active)).rejects.toMatchObject({ status: 503, code: 'AGENT_UNAVAILABLE' })
    await expect(move(columns.backlog)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    expect(await board.client.cards.get({ projectId, cardId })).toMatchObject({
      columnId: columns.backlog,
      version: 1,
      lastAgentAction: null,
    })
  })

  test('a card that requires a start is rejected as a whole, also over HTTP', async () => {
    const count = async () => (await board.client.cards.list({ projectId })).length
    const before = await count()
    const create = (columnId: string, more: object = {}) =>
      board.client.cards.create({ projectId, title: 'Must start', columnId, mustStart: true, ...more })
    await expect(create(columns.active)).rejects.toMatchObject({ status: 503, code: 'AGENT_UNAVAILABLE' })
    await expect(create(columns.backlog)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    await expect(create(columns.active, { deferred: true })).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    const { key } = await board.client.keys.create({
      name: 'Adds',
      scope: 'project',
      projectId,
      permissions: ['cards.create', 'cards.read'],
    })
    const adding = board
      .as(key)
      .cards.create({ projectId, title: 'Must start', columnId: columns.active, mustStart: true })
    await expect(adding).rejects.toMatchObject({ status: 403, code: 'INSUFFICIENT_PERMISSIONS' })
    expect(await count()).toBe(before)
  })
})

describe('in a project without Git', () => {
  let board: AgentBoard
  let cli: CommandLine
  let projectId: string
  const folder = mkdtempSync(join(tmpdir(), 'board-no-git-'))
  beforeAll(async () => {
    board = await startAgentBoard({ good: { fixture: 'well-behaved' } })
    projectId = (await board.client.projects.create({ name: 'Plain', path: folder })).id
    await board.client.projects.update({ id: projectId, agent: 'good' })
    cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
  })
  afterAll(async () => {
    cli.close()
    await board.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const newCard = async (more: { useWorktree?: boolean } = {}) =>
    (await board.client.cards.create({ projectId, title: 'Work', ...more })).id
  const warning =
    'warning: the project is not in a Git repository, so its agents work in the project folder, without worktrees'

  test('a move and a run report the missing worktree once; the message remains in the history', async () => {
    const [first, second, third] = [await newCard(), await newCard(), await newCard()]
    const moved = await cli.board(['cards', 'move', first, second, '--to', 'In Progress', '--yes'])
    expect(moved.stderr.split(warning)).toHaveLength(2)
    const ran = await cli.board(['cards', 'run', third, '--wait', '--timeout', '60'])
    expect(ran.code).toBe(0)
    expect(ran.stderr).toContain(warning)
    const [told] = await board.client.agents.messages({ projectId, cardId: third })
    expect(told).toMatchObject({ role: 'system', content: expect.stringContaining('not in a Git repository') })
  })

  test('a card without a worktree gets no notice', async () => {
    const id = await newCard({ useWorktree: false })
    expect((await cli.board(['cards', 'run', id, '--wait', '--timeout', '60'])).stderr).not.toContain('Git')
    const messages = await board.client.agents.messages({ projectId, cardId: id })
    expect(messages.some(({ content }) => content.includes('Git'))).toBe(false)
  })

  test('in a Git repository there is no notice', async () => {
    const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'Work', agent: 'good' })
    const { stderr } = await cli.board(['-P', board.projectId, 'cards', 'run', id, '--wait', '--timeout', '60'])
    expect(stderr).not.toContain('warning')
  })
})
