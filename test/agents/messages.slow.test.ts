import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { fixtureState, startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard({
    resumable: { fixture: 'resumable' },
    ending: { fixture: 'resumable', env: { FIXTURE_LOST: 'exit' } },
    well: { fixture: 'well-behaved' },
    slow: { fixture: 'permission-first' },
    crash: { fixture: 'crash-in-turn' },
    forever: { fixture: 'forever' },
    planner: { fixture: 'refining' },
  })
})
afterAll(() => board.close())

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const said = async (cardId: string, role: string) =>
  (await board.messages(cardId)).filter(message => message.role === role).map(({ content }) => content)

test('a message to an ended session continues it if the agent can resume', async () => {
  const { id } = await board.start('resumable', { prompt: 'First thing.', useWorktree: false })
  await board.untilStatus(id, 'completed')
  expect(await board.client.agents.send({ ...ref(id), content: 'Second thing.' })).toMatchObject({
    role: 'user',
    content: 'Second thing.',
  })
  await board.until(id, 'the second answer', card => card.status === 'completed')
  await eventually('the second answer', async () => (await said(id, 'agent')).length === 2)
  expect((await said(id, 'agent'))[1]).toBe('Noted. You said 2 things, the first was: First thing.')
  expect(await said(id, 'user')).toEqual(['First thing.', 'Second thing.'])
  expect((await board.card(id)).sessions).toHaveLength(1)
})

test.each([
  ['refuses to load', 'resumable', 'Resource not found'],
  ['exits when it loads', 'ending', 'No conversation found.'],
])('an agent that %s a lost conversation starts a new one with all messages of users', async (_, agent, why) => {
  const { id } = await board.start(agent, { prompt: 'First thing.', useWorktree: false })
  await board.untilStatus(id, 'completed')
  const answers = (count: number) =>
    eventually(`${count} answers`, async () => (await said(id, 'agent')).length === count)
  await board.client.agents.send({ ...ref(id), content: 'Second thing.' })
  await answers(2)
  await board.untilStatus(id, 'completed')
  const state = fixtureState(board.server.app.config.dataDir)
  for (const file of readdirSync(state).filter(name => name.endsWith('.json'))) rmSync(join(state, file))
  await board.client.agents.send({ ...ref(id), content: 'Third thing.' })
  await answers(3)
  await board.untilStatus(id, 'completed')
  const told = (await said(id, 'agent')).at(-1)!
  expect(told).toContain('You said 1 things')
  expect(told.match(/(First|Second|Third) thing\./g)).toEqual([
    'First thing.',
    'Second thing.',
    'First thing.',
    'Third thing.',
  ])
  expect((await said(id, 'system')).at(-1)).toMatch(/^The agent started a new conversation, because it could not load/)
  expect((await said(id, 'system')).at(-1)).toContain(why)
  expect((await board.card(id)).sessions).toHaveLength(1)
})

test('an agent gets the title of a card whose prompt is blank', async () => {
  const { id } = await board.start('resumable', { prompt: ' \n', useWorktree: false })
  await board.untilStatus(id, 'completed')
  expect(await said(id, 'user')).toEqual([(await board.card(id)).title])
})

test('a session continues next to an open pre-session, and a pre-session next to a running agent', async () => {
  const { id } = await board.start('resumable', { prompt: 'First thing.', useWorktree: false })
  await board.untilStatus(id, 'completed')
  const change = (agent: string) => board.client.cards.update({ ...ref(id), agent })
  await change('forever')
  const { sessionId } = await board.client.preSessions.start(ref(id))
  await eventually('the planning agent', () => board.processes().length > 0)
  await board.client.agents.send({ ...ref(id), content: 'Second thing.' })
  await eventually('the second answer', async () => (await said(id, 'agent')).length === 2)
  await board.client.preSessions.cancel({ projectId: board.projectId, sessionId })
  await board.untilNoneRuns()
  await change('planner')
  const talk = (await board.client.preSessions.start(ref(id))).sessionId
  const answers = (count: number) =>
    eventually(
      `${count} answers`,
      async () =>
        (await board.client.preSessions.messages({ projectId: board.projectId, sessionId: talk })).filter(
          ({ role }) => role === 'agent',
        ).length === count,
    )
  await answers(1)
  await board.untilNoneRuns()
  await change('forever')
  await board.client.agents.relaunch(ref(id))
  await eventually('an agent at work', () => board.processes().length > 0)
  await board.client.preSessions.send({ projectId: board.projectId, sessionId: talk, content: 'With tiles.' })
  await answers(2)
  await board.client.agents.cancel(ref(id))
  await board.untilNoneRuns()
})

test('a message to an agent that cannot resume starts a new session with it, and with the last response', async () => {
  const { id } = await board.start('well', { prompt: 'First thing.', useWorktree: false })
  await board.untilStatus(id, 'completed')
  await board.client.agents.send({ ...ref(id), content: 'Second thing.' })
  const card = await board.until(
    id,
    'the second session',
    found => found.sessions.length === 2 && found.status === 'completed',
  )
  expect(card.sessions.map(({ status }) => status)).toEqual(['completed', 'completed'])
  const { content } = (await board.client.agents.messages({ ...ref(id), sessionId: card.sessions[1]!.id })).find(
    ({ role, content: text }) => role === 'user' && text.includes('First thing.'),
  )!
  expect(content).toMatch(/First thing\.[\s\S]*I wrote hello\.txt as asked\./)
})

test("a message during a turn waits for the turn's end", async () => {
  const { id } = await board.start('slow', { useWorktree: false })
  await board.untilStatus(id, 'waiting')
  expect(await board.client.agents.send({ ...ref(id), content: 'And then this.' })).toMatchObject({
    role: 'user',
    content: 'And then this.',
  })
  expect((await board.card(id)).status).toBe('waiting')
  await board.client.agents.approvePlan({ ...ref(id), approved: true })
  await eventually(
    'the second question',
    async () => (await said(id, 'agent')).length === 1 && (await board.card(id)).status === 'waiting',
  )
  await board.client.agents.approvePlan({ ...ref(id), approved: false })
  await board.untilStatus(id, 'completed')
  expect(await said(id, 'agent')).toEqual(['Written.', 'Then I leave it.'])
  expect((await board.card(id)).sessions).toHaveLength(1)
})

test('retry continues the latest session, and relaunch starts a new one', async () => {
  const { id } = await board.start('resumable', { prompt: 'First thing.', useWorktree: false })
  await board.untilStatus(id, 'completed')
  await board.client.agents.retry(ref(id))
  await eventually('the second answer', async () => (await said(id, 'agent')).length === 2)
  await board.untilStatus(id, 'completed')
  expect((await board.card(id)).sessions).toHaveLength(1)
  await board.client.agents.relaunch(ref(id))
  await board.until(id, 'the second session', card => card.sessions.length === 2 && card.status === 'completed')
  expect((await said(id, 'agent')).at(-1)).toBe('Noted. You said 1 things, the first was: First thing.')
})

test('retry after a crash starts a new session if the agent cannot resume', async () => {
  const { id } = await board.start('crash', { useWorktree: false })
  await board.untilStatus(id, 'failed')
  await board.client.cards.update({ ...ref(id), agent: 'well' })
  await board.client.agents.retry(ref(id))
  expect(
    (await board.until(id, 'the second session', card => card.status === 'completed')).sessions.map(
      ({ agent, status }) => [agent, status],
    ),
  ).toEqual([
    ['crash', 'failed'],
    ['well', 'completed'],
  ])
})

test('a request that needs a card without a running agent is rejected while one runs', async () => {
  const { id } = await board.start('forever')
  await board.untilStatus(id, 'running')
  for (const name of ['retry', 'relaunch', 'merge'] as const)
    await expect(board.client.agents[name](ref(id))).rejects.toMatchObject({ code: 'AGENT_ALREADY_RUNNING' })
  await board.client.agents.cancel(ref(id))
  await board.client.cards.archive(ref(id))
  await expect(board.client.agents.send({ ...ref(id), content: 'Hello?' })).rejects.toMatchObject({ code: 'CONFLICT' })
  await expect(board.client.agents.retry(ref(id))).rejects.toMatchObject({ code: 'CONFLICT' })
  await board.untilNoneRuns()
})

test("a summary is the agent's last message, or is requested from it while it works", async () => {
  const { id } = await board.start('well', { useWorktree: false })
  await board.untilStatus(id, 'completed')
  expect(await board.client.agents.summary(ref(id))).toEqual({ summary: 'I wrote hello.txt as asked.' })
  const waiting = await board.start('slow', { useWorktree: false })
  await board.untilStatus(waiting.id, 'waiting')
  const asked = board.client.agents.summary(ref(waiting.id))
  await board.client.agents.approvePlan({ ...ref(waiting.id), approved: true })
  await eventually(
    "the question of the summary's turn",
    async () => (await said(waiting.id, 'agent')).length === 1 && (await board.card(waiting.id)).status === 'waiting',
  )
  await board.client.agents.approvePlan({ ...ref(waiting.id), approved: false })
  expect(await asked).toEqual({ summary: 'Then I leave it.' })
  const idle = await board.client.cards.create({ projectId: board.projectId, title: 'Idle' })
  expect(await board.client.agents.summary(ref(idle.id))).toEqual({ summary: '' })
})

test('a message right after a cancel reaches a new turn', async () => {
  const { id } = await board.start('forever')
  await board.untilStatus(id, 'running')
  await board.client.agents.cancel(ref(id))
  await board.client.cards.update({ ...ref(id), agent: 'well' })
  await board.client.agents.send({ ...ref(id), content: 'Do something else.' })
  const card = await board.untilStatus(id, 'completed')
  expect(card.sessions.map(({ status }) => status)).toEqual(['cancelled', 'completed'])
  await board.untilNoneRuns()
})

test('a message to a card that automation has deferred continues its session and ends the deferral', async () => {
  const { projectId, columns, client } = board
  const { key } = await client.keys.create({
    name: 'Automation',
    scope: 'project',
    projectId,
    permissions: ['cards.move'],
  })
  const { id: cardId } = await board.start('resumable', { prompt: 'First thing.', useWorktree: false })
  await board.untilStatus(cardId, 'completed')
  for (const column of [columns.backlog, columns.active])
    await board.request('PATCH', `/api/external/projects/${projectId}/cards/${cardId}/move`, {
      token: key,
      body: { targetColumnId: Number(column), position: 0 },
    })
  expect(await board.card(cardId)).toMatchObject({ deferred: true, hasActiveAgent: false })
  await client.agents.send({ projectId, cardId, content: 'Second thing.' })
  await board.until(cardId, 'the continued session', ({ deferred, status }) => !deferred && status === 'completed')
  expect(await client.agents.sessions({ projectId, cardId })).toHaveLength(1)
})
