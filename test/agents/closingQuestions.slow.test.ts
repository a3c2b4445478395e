import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeRepository, startAgentBoard, startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const asks = 'I read the code.\n\nWhich database should I use?'
const title = 'Which database should I use?'
const agents = { closing: { fixture: 'closing' }, forgetful: { fixture: 'closing', env: { FIXTURE_FORGETS: '1' } } }

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard(agents)
})
afterAll(() => board.close())

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const start = (turn: object, input: object = {}, agent = 'closing') =>
  board.start(agent, { prompt: JSON.stringify(turn), autoMode: true, ...input })
const notifications = (cardId: string) =>
  board.socket.messages
    .filter(({ type, data }) => type === 'notification' && data.cardId === cardId)
    .map(({ data }) => data)
const untilDone = (id: string) =>
  board.until(
    id,
    'the done column',
    ({ columnId, status }) => columnId === board.columns.done && status === 'completed',
  )

describe('a turn that ends with a question and changes nothing', () => {
  test('leaves the card waiting with the last message, without a process and without a slot', async () => {
    const { id } = await start({ calls: ['execute'], says: asks })
    expect(await board.untilStatus(id, 'waiting')).toMatchObject({
      columnId: board.columns.active,
      statusReason: 'question',
      hasActiveAgent: true,
      unread: true,
      lastAgentAction: { type: 'waiting', detail: title },
    })
    await board.untilNoneRuns()
    expect(await board.client.agents.get(ref(id))).toMatchObject({
      status: 'waiting',
      waitingFor: title,
      summary: 'I read the code. Which database should I use?',
      questions: [{ title, kind: 'question', options: [], takesText: true }],
    })
    expect(await board.client.agents.wait({ ...ref(id), timeoutSecs: 1 })).toMatchObject({ outcome: 'waiting' })
    await eventually('the question on the socket', () =>
      board.socket.messages.some(({ type, data }) => type === 'agent.permission' && data.cardId === id),
    )
    await eventually('the notification', () => notifications(id).length > 0)
    expect(notifications(id)).toMatchObject([
      { kind: 'agentWaiting', message: `The agent is waiting for you: ${title}` },
    ])
  })

  test('continues the session with a message, and then moves the card on', async () => {
    const { id } = await start({ says: asks })
    await board.untilStatus(id, 'waiting')
    await board.client.agents.send({ ...ref(id), content: 'Postgres.', attachmentIds: [] })
    expect(await untilDone(id)).toMatchObject({ statusReason: null, sessions: [{ status: 'completed' }] })
    expect((await board.messages(id)).at(-1)).toMatchObject({ role: 'agent', content: 'I received: Postgres.' })
  })

  test('continues the session with an answer to its question', async () => {
    const { id } = await start({ says: asks })
    await board.untilStatus(id, 'waiting')
    const [question] = (await board.client.agents.get(ref(id))).questions
    await expect(board.client.agents.approvePlan({ ...ref(id), approved: true })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ path: 'answer', message: 'is required, because the question has no options' }],
    })
    await board.client.agents.approvePlan({
      ...ref(id),
      approved: true,
      answer: 'SQLite.',
      requestId: question!.requestId,
    })
    await untilDone(id)
    expect((await board.messages(id)).at(-1)!.content).toBe(
      `I received: The answer to your question "${title}":\n\nSQLite.`,
    )
    await expect(board.client.agents.approvePlan({ ...ref(id), approved: true, answer: 'No.' })).rejects.toMatchObject({
      code: 'NOTHING_TO_APPROVE',
    })
  })

  test('gives an agent that cannot resume its question and the answer', async () => {
    const { id } = await start({ says: asks }, {}, 'forgetful')
    await board.untilStatus(id, 'waiting')
    await board.client.agents.send({ ...ref(id), content: 'Postgres.', attachmentIds: [] })
    await eventually('the new conversation', async () => {
      const last = (await board.messages(id)).at(-1)!
      return last.role === 'user' && last.content === 'Postgres.' ? false : (await board.card(id)).status !== 'running'
    })
    expect((await board.card(id)).sessions).toHaveLength(1)
  })

  test('approving its step moves the card on', async () => {
    const { id } = await start({ says: asks })
    await board.untilStatus(id, 'waiting')
    await board.client.agents.approveAuto(ref(id))
    expect(await board.card(id)).toMatchObject({ columnId: board.columns.done, status: 'completed' })
  })

  test.each(['cancel', 'complete', 'retry'] as const)('accepts %s', async command => {
    const { id } = await start({ says: asks })
    await board.untilStatus(id, 'waiting')
    if (command === 'cancel') await board.client.agents.cancel(ref(id))
    else if (command === 'complete') await board.client.cards.complete(ref(id))
    else await board.client.agents.retry(ref(id))
    const expected = { cancel: 'cancelled', complete: 'completed', retry: 'completed' } as const
    await board.untilStatus(id, expected[command])
    expect(await board.client.agents.get(ref(id))).toMatchObject({ waitingFor: null, questions: [] })
  })
})

describe('a card moves on', () => {
  test.each([
    ['after a question, if the turn wrote a file', { writes: 'new.txt', says: asks }],
    ['after a turn that changes nothing and asks nothing', { calls: ['read'], says: 'I reviewed it. All is well.' }],
  ])('%s', async (_, turn) => {
    const { id } = await start(turn)
    expect(await untilDone(id)).toMatchObject({ sessions: [{ status: 'completed' }] })
  })
})

test('an earlier change of the card does not hide a question of a later turn', async () => {
  const { id } = await start({ writes: 'new.txt', says: 'Done.' }, { autoMode: false })
  await board.untilStatus(id, 'completed')
  await board.client.agents.send({ ...ref(id), content: JSON.stringify({ says: asks }), attachmentIds: [] })
  await board.untilStatus(id, 'waiting')
})

test("a change in another repository of the project counts as the turn's", async () => {
  const other = makeRepository(join(board.path, '..', 'other'))
  const { id: projectId } = await board.client.projects.create({
    name: 'Two',
    path: makeRepository(join(board.path, '..', 'home')),
  })
  await board.client.projects.update({ id: projectId, repositories: [{ name: 'other', path: other }] })
  const [, active] = await board.client.columns.list({ projectId })
  const run = async (turn: object) => {
    const { id } = await board.client.cards.create({
      projectId,
      title: 'Work',
      prompt: JSON.stringify(turn),
      columnId: active!.id,
      agent: 'closing',
    })
    return eventually('the end of the turn', async () => {
      const { status } = await board.client.cards.get({ projectId, cardId: id })
      return status === 'completed' || status === 'waiting' ? status : undefined
    })
  }
  expect(await run({ says: asks })).toBe('waiting')
  expect(await run({ says: asks, writesIn: 'other', writes: 'new.txt' })).toBe('completed')
})

test('a question with which a turn ended survives a restart of the server', async () => {
  const before = await startAgentBoard(agents)
  const { id } = await before.start('closing', { prompt: JSON.stringify({ says: asks }) })
  await before.untilStatus(id, 'waiting')
  await before.server.stop()
  const after = await startBoard({ dataDir: before.dataDir })
  const place = { projectId: before.projectId, cardId: id }
  expect(await after.client.agents.get(place)).toMatchObject({ status: 'waiting', questions: [{ title }] })
  await after.client.agents.approvePlan({ ...place, approved: true, answer: 'Postgres.' })
  await eventually('the end', async () => (await after.client.cards.get(place)).status === 'completed')
  await after.close()
  await before.close()
})

describe('in a folder without Git', () => {
  let folder: AgentBoard
  beforeAll(async () => {
    folder = await startFolderBoard(agents)
  })
  afterAll(() => folder.close())

  test.each([
    ['waits if the turn only read files', ['read', 'search'], 'waiting'],
    ['completes if the turn ran a command', ['execute'], 'completed'],
    ['completes if the turn edited a file', ['edit'], 'completed'],
  ] as const)('a card %s', async (_, calls, status) => {
    const { id } = await folder.start('closing', { prompt: JSON.stringify({ calls, says: asks }) })
    await folder.untilStatus(id, status)
  })
})
