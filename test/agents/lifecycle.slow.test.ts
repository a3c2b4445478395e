import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard(
    {
      well: { fixture: 'well-behaved' },
      forever: { fixture: 'forever' },
      crash: { fixture: 'crash-in-turn' },
      deaf: { fixture: 'ignores-term' },
      setsid: { fixture: 'setsid-grandchild' },
      leaver: { fixture: 'setsid-grandchild', env: { FIXTURE_LEAVE: '1' } },
      flood: { fixture: 'flood', env: { FIXTURE_UPDATES: '20000' } },
      rubbish: { fixture: 'rubbish' },
      stillborn: { fixture: 'dies-before-initialize' },
      limited: { fixture: 'usage-limited' },
      refusing: { fixture: 'usage-limited', env: { FIXTURE_LIMIT: 'refusal' } },
      echo: { protocol: 'command', command: ['/bin/sh', '-c', 'echo "heard: $0"', '{prompt}'] },
    },
    { agentSlots: 10 },
  )
})
afterAll(() => board.close())

test('a well-behaved agent works in the worktree and completes its card', async () => {
  const created = await board.start('well', { title: 'Write hello' })
  expect(created).toMatchObject({ status: 'queued', hasActiveAgent: true, locks: [{ kind: 'agent', holder: 'well' }] })
  const card = await board.untilStatus(created.id, 'completed')
  expect(card).toMatchObject({
    statusReason: null,
    unread: true,
    hasActiveAgent: false,
    locks: [],
    lastAgentAction: { type: 'completed' },
    gitBranch: expect.stringMatching(new RegExp(`^board/${card.id}-write-hello`)),
  })
  expect(card.startedAt).not.toBeNull()
  expect(card.endedAt).not.toBeNull()
  const session = await board.client.agents.get({ projectId: board.projectId, cardId: card.id })
  expect(session).toMatchObject({
    agent: 'well',
    status: 'completed',
    summary: 'I wrote hello.txt as asked.',
    usage: { inputTokens: 100, outputTokens: 20, exact: true, contextUsed: 1200, contextSize: 200_000, costUsd: 0.01 },
    branch: card.gitBranch,
  })
  expect(card.sessions).toMatchObject([
    { id: session.sessionId, agent: 'well', status: 'completed', summary: session.summary },
  ])
  expect(existsSync(join(board.path, 'hello.txt'))).toBe(false)
  expect(readFileSync(join(board.dataDir, 'worktrees', board.projectId, card.id, 'hello.txt'), 'utf8')).toBe(
    'hello from turn 1\n',
  )
  expect((await board.messages(card.id)).map(({ role }) => role)).toEqual(
    expect.arrayContaining(['user', 'thought', 'tool', 'plan', 'agent']),
  )
  expect((await board.client.agents.history({ projectId: board.projectId, cardId: card.id }))[0]).toMatchObject({
    filesChanged: 1,
  })
  await board.untilNoneRuns()
})

test('every change of status is sent on the socket, with the card', async () => {
  const { id } = await board.start('well')
  await board.untilStatus(id, 'completed')
  const statuses = () =>
    board.socket.messages
      .filter(({ type, data }) => type === 'agent.status' && data.cardId === id)
      .map(({ data }) => data.status)
  await eventually('all statuses', () => statuses().length === 3)
  expect(statuses()).toEqual(['queued', 'running', 'completed'])
  const cards = board.socket.messages
    .filter(({ type, data }) => type === 'card.updated' && data.id === id)
    .map(({ data }) => data.status)
  expect([...new Set(cards)]).toEqual(['queued', 'running', 'completed'])
  const versions = board.socket.messages
    .filter(({ type, data }) => type.startsWith('card.') && data.id === id && data.version)
    .map(({ data }) => data.version)
  // An event also reports the worktree's path, so no version is skipped.
  expect(versions).toEqual(versions.map((_, at) => versions[0]! + at))
})

test('cancelling ends an agent that would work forever, and keeps its card', async () => {
  const { id } = await board.start('forever')
  await board.until(id, 'the running agent', card => card.status === 'running')
  await eventually('a word of the agent', async () => (await board.messages(id)).some(({ role }) => role === 'agent'))
  await board.client.agents.cancel({ projectId: board.projectId, cardId: id })
  expect(await board.card(id)).toMatchObject({
    status: 'cancelled',
    statusReason: 'cancelled',
    unread: false,
    columnId: board.columns.active,
    locks: [],
  })
  await board.untilNoneRuns()
  await eventually('what the agent said last', async () =>
    (await board.client.agents.get({ projectId: board.projectId, cardId: id })).summary?.startsWith('Still at it'),
  )
  await expect(board.client.agents.cancel({ projectId: board.projectId, cardId: id })).rejects.toMatchObject({
    code: 'AGENT_NOT_RUNNING',
  })
})

test('ending the agent of one card keeps the agent of another one and its token working', async () => {
  const { projectId } = board
  const { id: other } = await board.start('forever')
  await board.until(other, 'the other agent', card => card.status === 'running')
  const {
    data: { token },
  } = (await board.request('POST', `/api/projects/${projectId}/cards/${other}/agent-token`, { body: {} })).body
  const endings: Array<(cardId: string) => Promise<unknown>> = [
    cardId => board.client.agents.cancel({ projectId, cardId }),
    cardId => board.client.cards.move({ projectId, cardId, columnId: board.columns.backlog }),
    cardId => board.client.cards.complete({ projectId, cardId }),
    cardId => board.client.cards.archive({ projectId, cardId }),
    cardId => board.client.cards.delete({ projectId, cardId }),
  ]
  for (const end of endings) {
    const { id } = await board.start('forever')
    await board.until(id, 'the running agent', card => card.status === 'running')
    await end(id)
    expect(await board.card(other)).toMatchObject({ status: 'running', hasActiveAgent: true })
    expect((await board.request('GET', `/api/projects/${projectId}/cards/${other}/monitors`, { token })).status).toBe(
      200,
    )
  }
  // A move within the column does not affect the agent.
  const position = (await board.card(other)).position === 0 ? 1 : 0
  await board.client.cards.move({ projectId, cardId: other, columnId: board.columns.active, position })
  expect(await board.card(other)).toMatchObject({ status: 'running', position })
  expect((await board.request('GET', `/api/projects/${projectId}/cards/${other}/monitors`, { token })).status).toBe(200)
  await board.client.agents.cancel({ projectId, cardId: other })
  await board.untilNoneRuns()
})

test('a deferred card starts when it is activated in an active column, and in no other', async () => {
  const { projectId } = board
  const make = async (columnId: string) =>
    (await board.client.cards.create({ projectId, columnId, title: 'Later', agent: 'forever', deferred: true })).id
  const [here, elsewhere] = [await make(board.columns.active), await make(board.columns.backlog)]
  for (const cardId of [here, elsewhere])
    expect(await board.card(cardId)).toMatchObject({ status: 'idle', deferred: true })
  for (const cardId of [here, elsewhere]) await board.client.cards.activate({ projectId, cardId })
  expect(await board.card(elsewhere)).toMatchObject({ status: 'idle', deferred: false, sessions: [] })
  await board.until(here, 'the running agent', card => card.status === 'running')
  await expect(board.client.cards.activate({ projectId, cardId: here })).rejects.toMatchObject({
    code: 'CARD_NOT_DEFERRED',
  })
  await board.client.agents.cancel({ projectId, cardId: here })
  await board.untilNoneRuns()
})

test.each([
  ['deaf', 'that hears no signal'],
  ['setsid', 'with tools in separate process sessions'],
])('cancelling the agent %s, %s, leaves no process', async agent => {
  const { id } = await board.start(agent)
  await eventually('a word of the agent', async () => (await board.messages(id)).some(({ role }) => role === 'agent'))
  await board.client.agents.cancel({ projectId: board.projectId, cardId: id })
  await board.untilNoneRuns()
  expect(await board.card(id)).toMatchObject({ status: 'cancelled', statusReason: 'cancelled' })
})

test('leftover tools of an agent end with its session', async () => {
  const { id } = await board.start('leaver')
  expect(await board.untilStatus(id, 'completed')).toMatchObject({ statusReason: null })
  await board.untilNoneRuns()
})

test.each([
  ['crash', 'crashed', /exit code 3/],
  ['rubbish', 'protocol_violation', /Agent Client Protocol/],
  ['stillborn', 'launch_failed', /Cannot find module/],
  ['limited', 'usage_limit', /hit your limit/],
  ['refusing', 'refused', /refused/],
])('the failure of the agent %s is reported as %s', async (agent, statusReason, words) => {
  const { id } = await board.start(agent, { autoMode: true })
  const card = await board.untilStatus(id, 'failed')
  expect(card).toMatchObject({
    statusReason,
    unread: true,
    columnId: board.columns.active,
    lastAgentAction: { type: 'failed', detail: expect.stringMatching(words) },
  })
  expect((await board.messages(id)).at(-1)).toMatchObject({ role: 'system', content: expect.stringMatching(words) })
  await board.untilNoneRuns()
})

test('a flood of updates is stored completely while the server answers', async () => {
  const { id } = await board.start('flood')
  await board.untilStatus(id, 'completed', 60_000)
  const text = (await board.client.agents.messages({ projectId: board.projectId, cardId: id, limit: 1000 }))
    .filter(({ role }) => role === 'agent')
    .map(({ content }) => content)
    .join('')
  expect(
    text
      .split('\n')
      .filter(Boolean)
      .map(line => Number(line.split(' ')[0])),
  ).toEqual(Array.from({ length: 20_000 }, (_, index) => index + 1))
})

test('a plain command works as an agent', async () => {
  const { id } = await board.start('echo', { prompt: 'say this' })
  await board.untilStatus(id, 'completed')
  expect((await board.messages(id)).filter(({ role }) => role === 'agent').map(({ content }) => content)).toEqual([
    'heard: say this\n',
  ])
})

test.each([
  [
    'moving it out of the active column',
    (cardId: string) =>
      board.client.cards.move({ projectId: board.projectId, cardId, columnId: board.columns.backlog }),
  ],
  ['archiving it', (cardId: string) => board.client.cards.archive({ projectId: board.projectId, cardId })],
  ['deleting it', (cardId: string) => board.client.cards.delete({ projectId: board.projectId, cardId, force: true })],
  ['completing it', (cardId: string) => board.client.cards.complete({ projectId: board.projectId, cardId })],
])("a card's agent and its tokens end with %s", async (_, leave) => {
  const { id } = await board.start('forever')
  await board.untilStatus(id, 'running')
  const { token } = await board.client.agents.token({ projectId: board.projectId, cardId: id })
  const ask = () =>
    board.request('POST', '/api/mcp', {
      token,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      headers: { accept: 'application/json, text/event-stream' },
    })
  expect((await ask()).status).toBe(200)
  await leave(id)
  expect((await ask()).status).toBe(401)
  await board.untilNoneRuns()
})

test('a card whose agent is not installed moves anyway, and reports the missing program', async () => {
  const { id } = await board.start('claude', { columnId: board.columns.backlog })
  const moved = await board.client.cards.move({
    projectId: board.projectId,
    cardId: id,
    columnId: board.columns.active,
  })
  expect(moved).toMatchObject({
    columnId: board.columns.active,
    status: 'idle',
    lastAgentAction: { type: 'not_started', detail: expect.stringContaining('is not installed') as string },
  })
  await expect(board.client.agents.relaunch({ projectId: board.projectId, cardId: id })).rejects.toMatchObject({
    code: 'AGENT_UNAVAILABLE',
  })
})

test('automation starts no agent by creating or moving a card, and activate starts it', async () => {
  const { key } = await board.client.keys.create({
    name: 'Automation',
    scope: 'project',
    projectId: board.projectId,
    permissions: ['cards.create', 'cards.move', 'cards.read', 'agents.cancel'],
  })
  const created = await board.request('POST', `/api/external/projects/${board.projectId}/cards`, {
    token: key,
    body: { title: 'By automation', columnId: Number(board.columns.active) },
  })
  expect(created.body.data).toMatchObject({ status: 'idle', deferred: true, lastAgentAction: null })
  const cardId = String(created.body.data.id)
  const moved = await board.request('PATCH', `/api/external/projects/${board.projectId}/cards/${cardId}/move`, {
    token: key,
    body: { targetColumnId: Number(board.columns.backlog), position: 0 },
  })
  expect(moved.status).toBe(200)
  await board.request('PATCH', `/api/external/projects/${board.projectId}/cards/${cardId}/move`, {
    token: key,
    body: { targetColumnId: Number(board.columns.active), position: 0 },
  })
  expect(await board.card(cardId)).toMatchObject({ status: 'idle', deferred: true })
  await board.client.cards.update({ projectId: board.projectId, cardId, agent: 'forever' })
  await board.client.cards.activate({ projectId: board.projectId, cardId })
  await board.untilStatus(cardId, 'running')
  const cancelled = await board.request(
    'POST',
    `/api/external/projects/${board.projectId}/cards/${cardId}/agent/cancel`,
    { token: key },
  )
  expect(cancelled).toMatchObject({ status: 200, body: { data: { ok: true } } })
  expect(
    (
      await board.request('POST', `/api/external/projects/${board.projectId}/cards/${cardId}/agent/cancel`, {
        token: key,
      })
    ).body.error.code,
  ).toBe('AGENT_NOT_RUNNING')
})

test("a project's agents end when it is deleted", async () => {
  const other = await board.client.projects.create({ name: 'Other', path: board.path })
  const columns = await board.client.columns.list({ projectId: other.id })
  const card = await board.client.cards.create({
    projectId: other.id,
    title: 'Work',
    columnId: columns[1]!.id,
    agent: 'forever',
  })
  await eventually(
    'the running agent',
    async () => (await board.client.cards.get({ projectId: other.id, cardId: card.id })).status === 'running',
  )
  await eventually('its process', () => board.processes().length > 0)
  await board.client.projects.delete({ id: other.id })
  await board.untilNoneRuns()
  expect(board.processes()).toEqual([])
})

test("the nearest configured agent is used: the card's, otherwise the column's, otherwise the project's", async () => {
  const { projectId, columns } = board
  await board.client.projects.update({ id: projectId, agent: 'well' })
  await board.client.columns.update({ projectId, columnId: columns.active, agent: 'echo' })
  const agentOf = async (agent?: string) => {
    const { id } = await board.client.cards.create({ projectId, title: 'Whose', columnId: columns.active, agent })
    return (await board.untilStatus(id, agent === 'limited' ? 'failed' : 'completed')).sessions[0]!.agent
  }
  expect([await agentOf('limited'), await agentOf()]).toEqual(['limited', 'echo'])
  await board.client.columns.update({ projectId, columnId: columns.active, agent: null })
  expect(await agentOf()).toBe('well')
  await board.client.projects.update({ id: projectId, agent: null })
})

test('a new worktree gets copies of the ignored files that the project lists', async () => {
  writeFileSync(join(board.path, '.gitignore'), '.env\n')
  writeFileSync(join(board.path, '.env'), 'KEY=value\n')
  expect(
    await board.client.projects.update({ id: board.projectId, worktree: { copiedFiles: ['.env'] } }),
  ).toMatchObject({
    worktree: { copiedFiles: ['.env'] },
  })
  const { id } = await board.start('well')
  await board.untilStatus(id, 'completed')
  expect(readFileSync(join(board.dataDir, 'worktrees', board.projectId, id, '.env'), 'utf8')).toBe('KEY=value\n')
})
