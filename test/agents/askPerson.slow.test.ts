import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const which = { question: 'Which database should I use?', options: ['Postgres', 'SQLite'] }
let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ asking: { fixture: 'asking-people' } })
  await board.client.projects.update({
    id: board.projectId,
    approvalPolicy: { default: 'refuse', allow: [], refuse: [] },
  })
})
afterAll(() => board.close())

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const start = (turn: object) => board.start('asking', { prompt: JSON.stringify({ says: 'Done.', ...turn }) })
const questions = (cardId: string, count = 1) =>
  eventually(`${count} questions`, async () => {
    const open = (await board.client.agents.get(ref(cardId))).questions
    return open.length === count ? open : undefined
  })
const answer = (cardId: string, given: object) =>
  board.client.agents.approvePlan({ ...ref(cardId), approved: true, ...given })
const lastMessage = async (cardId: string) =>
  (await board.messages(cardId)).findLast(({ role }) => role === 'agent')!.content

describe('a question of ask_person', () => {
  test('waits for a user under a refusing policy, and returns the chosen option to the turn', async () => {
    const { id } = await start({ ask: [which] })
    const [question] = await questions(id)
    expect(question).toMatchObject({
      title: which.question,
      kind: 'question',
      takesText: true,
      plan: null,
      options: [
        { id: '1', name: 'Postgres', kind: 'allow_once' },
        { id: '2', name: 'SQLite', kind: 'allow_once' },
      ],
    })
    expect(await board.card(id)).toMatchObject({ status: 'waiting', statusReason: null })
    expect(
      board.socket.messages.filter(({ type, data }) => type === 'agent.permission' && data.cardId === id),
    ).toMatchObject([{ data: { requestId: question!.requestId, takesText: true } }])
    await expect(answer(id, {})).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ path: 'optionId', message: expect.stringContaining('Offered: 1 (Postgres, allow_once); 2 (SQLite') }],
    })
    await expect(answer(id, { answer: 'MySQL', optionId: '1' })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    await answer(id, { optionId: '2' })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toBe('{"answered":true,"answer":"SQLite","comment":""}\nDone.')
    expect((await board.messages(id)).map(({ role }) => role)).toEqual(['system', 'user', 'user', 'agent'])
  })

  test('returns the chosen option and a remark', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    await answer(id, { answer: 'MySQL 9.', feedback: 'We know it.' })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toContain('{"answered":true,"answer":"MySQL 9.","comment":"We know it."}')
  })

  test('returns that the user leaves the decision to the agent', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    await answer(id, { approved: false })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toContain('{"answered":true,"answer":null,"comment":""}')
  })

  test('stays open if the agent cancels the call and ends its turn: the answer continues the session', async () => {
    const giveUpFile = join(board.dataDir, 'give-up')
    const { id } = await start({ ask: [which, { question: 'Which region?' }], giveUpFile })
    await questions(id, 2)
    writeFileSync(giveUpFile, '')
    await board.until(id, 'the end of the turn', ({ statusReason }) => statusReason === 'question')
    await board.untilNoneRuns()
    const [first, second] = await questions(id, 2)
    await answer(id, { requestId: first!.requestId, optionId: '1' })
    expect(await board.card(id)).toMatchObject({ status: 'waiting', lastAgentAction: { detail: 'Which region?' } })
    expect((await questions(id)).map(({ title }) => title)).toEqual(['Which region?'])
    await answer(id, { requestId: second!.requestId, answer: 'Europe.' })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toContain(
      `I received: The answer to your question "${which.question}":\n\nPostgres\n\nThe answer to your question "Which region?":\n\nEurope.`,
    )
  })

  test('is asked once for calls with the same words', async () => {
    const { id } = await start({ ask: [which, which] })
    await questions(id)
    await answer(id, { optionId: '1' })
    await board.untilStatus(id, 'completed')
    expect((await lastMessage(id)).match(/"answer":"Postgres"/g)).toHaveLength(2)
  })

  test('is rejected if five are open', async () => {
    const { id } = await start({ ask: Array.from({ length: 6 }, (_, at) => ({ question: `Number ${at}` })) })
    const open = await questions(id, 5)
    for (const { requestId } of open) await answer(id, { requestId, answer: 'Yes.' })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toContain('At most 5 questions can be open. Wait for their answers.')
  })

  test('ends with the session', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    await board.client.agents.cancel(ref(id))
    expect(await board.card(id)).toMatchObject({ status: 'cancelled' })
    expect(await board.client.agents.get(ref(id))).toMatchObject({ questions: [] })
    await expect(answer(id, { optionId: '1' })).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
    await board.untilNoneRuns()
  })

  test.each([
    ['no words', { question: '' }, 'question'],
    ['too many words', { question: 'x'.repeat(4001) }, 'question'],
    ['an option twice', { question: 'Which?', options: ['a', 'a'] }, 'options'],
    ['11 options', { question: 'Which?', options: Array.from({ length: 11 }, (_, at) => `${at}`) }, 'options'],
    ['a long option', { question: 'Which?', options: ['x'.repeat(201)] }, 'options'],
  ])('is rejected with %s', async (_, question, field) => {
    const { id } = await start({ ask: [question] })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toContain(`"path":"${field}`)
  })
})

describe('a question of ask_person after failures', () => {
  const asked = 'The answer to your question "Which database should I use?":\n\nSQLite'
  const isOpenAfterTurn = async (id: string) => {
    await board.until(id, 'the end of the turn', ({ statusReason }) => statusReason === 'question')
    await board.untilNoneRuns()
    expect(await board.card(id)).toMatchObject({ status: 'waiting', lastAgentAction: { detail: which.question } })
    expect((await questions(id))[0]).toMatchObject({ title: which.question })
  }
  const notes = async (id: string) =>
    (await board.messages(id)).filter(({ role }) => role === 'system').map(({ content }) => content)
  const answersSeen = async (id: string) =>
    (await board.messages(id)).filter(({ role, content }) => role === 'user' && content.startsWith('The answer')).length

  test('stays open if the process of the agent dies: the answer continues the session', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    for (const pid of board.processes()) process.kill(pid, 'SIGKILL')
    await isOpenAfterTurn(id)
    expect(await notes(id)).toEqual([
      expect.any(String),
      expect.stringContaining('SIGKILL'),
      'The question to people stays open. Its answer continues the session.',
    ])
    await answer(id, { optionId: '2' })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toBe(`I received: ${asked}`)
    expect(await answersSeen(id)).toBe(1)
  })

  test.each([
    ['an error', 'Something broke.'],
    ['a usage limit', "You've hit your limit · resets 3am (UTC)"],
  ])('stays open if the turn ends with %s', async (_, message) => {
    const giveUpFile = join(board.dataDir, `give-up-${randomUUID()}`)
    const { id } = await start({ ask: [which], giveUpFile, fails: { code: -32603, message } })
    await questions(id)
    writeFileSync(giveUpFile, '')
    await isOpenAfterTurn(id)
    expect((await notes(id)).join('\n')).toContain(message)
    await answer(id, { optionId: '2' })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toBe(`I received: ${asked}`)
  })

  describe.each([
    ['before', true],
    ['after', false],
  ])('after a disconnection, when the agent asks again %s the answer', (_, isFirst) => {
    test('returns the answer once, and is asked once', async () => {
      const [giveUpFile, askAgainFile] = [board.dataDir, board.dataDir].map(folder => join(folder, randomUUID()))
      const { id } = await start({ ask: [which], giveUpFile, askAgainFile })
      const [before] = await questions(id)
      writeFileSync(giveUpFile!, '')
      await eventually('the cut', async () => (await board.messages(id)).some(({ content }) => content === 'Cut.'))
      if (isFirst) writeFileSync(askAgainFile!, '')
      expect(await questions(id)).toEqual([before])
      await answer(id, { optionId: '2' })
      writeFileSync(askAgainFile!, '')
      await board.untilStatus(id, 'completed')
      expect(await lastMessage(id)).toContain(
        'failed: AbortError\n{"answered":true,"answer":"SQLite","comment":""}\nDone.',
      )
      expect(await answersSeen(id)).toBe(1)
    })
  })

  test('returns the answer to an agent whose process was stopped when the answer came', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    const pids = board.processes()
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    await answer(id, { optionId: '2' })
    for (const pid of pids) process.kill(pid, 'SIGCONT')
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toBe('{"answered":true,"answer":"SQLite","comment":""}\nDone.')
  })

  test('is sent to the agent again if its process dies before it could read the answer', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    const pids = board.processes()
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    await answer(id, { optionId: '2' })
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await board.untilStatus(id, 'failed')
    await board.untilNoneRuns()
    await board.client.agents.retry(ref(id))
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toContain(asked)
  })

  test('is passed to the session that takes over after a handoff', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    await board.client.agents.relay(ref(id))
    await board.until(id, 'the session that takes over', ({ sessions }) => sessions.length === 2)
    await board.until(id, 'its question', ({ statusReason }) => statusReason === 'question')
    expect((await board.messages(id)).findLast(({ role }) => role === 'user')!.content).toContain(
      `Ask again if you need the answers:\n\n- ${which.question}`,
    )
  })

  test('stays open if a budget ends the turn', async () => {
    const { id } = await start({ ask: [which], costs: 2 })
    await questions(id)
    const { id: budget } = await board.client.budgets.create({
      scope: 'card',
      scopeId: id,
      unit: 'usd',
      limit: 1,
      period: 'total',
    })
    await isOpenAfterTurn(id)
    await expect(answer(id, { optionId: '2' })).rejects.toMatchObject({ code: 'BUDGET_EXHAUSTED' })
    await board.client.budgets.delete({ id: budget })
    await answer(id, { optionId: '2' })
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toBe(`I received: ${asked}`)
  })
})

test('a question whose call waits does not delay the end of the server, and stays open', async () => {
  const before = await startFolderBoard({ asking: { fixture: 'asking-people' } })
  const { id } = await before.start('asking', { prompt: JSON.stringify({ ask: [which] }) })
  const place = { projectId: before.projectId, cardId: id }
  await eventually('the question', async () => (await before.client.agents.get(place)).questions.length === 1)
  const began = performance.now()
  await before.server.stop()
  expect(performance.now() - began).toBeLessThan(15_000)
  const after = await startBoard({ dataDir: before.dataDir })
  expect(await after.client.agents.get(place)).toMatchObject({
    status: 'waiting',
    statusReason: 'question',
    questions: [{ title: which.question, options: [{ name: 'Postgres' }, { name: 'SQLite' }] }],
  })
  await after.client.agents.approvePlan({ ...place, approved: true, answer: 'MySQL.' })
  await eventually('the end', async () => (await after.client.cards.get(place)).status === 'completed')
  expect((await after.client.agents.messages(place)).at(-1)!.content).toContain(`"${which.question}":\n\nMySQL.`)
  await after.close()
  await before.close()
})
