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
const lastWords = async (cardId: string) =>
  (await board.messages(cardId)).findLast(({ role }) => role === 'agent')!.content

describe('a question of ask_person', () => {
  test('waits for a person under a policy that refuses, and returns the chosen option to the turn', async () => {
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
    expect(await lastWords(id)).toBe('{"answered":true,"answer":"SQLite","comment":""}\nDone.')
    expect((await board.messages(id)).map(({ role }) => role)).toEqual(['system', 'user', 'user', 'agent'])
  })

  test('returns words and a remark', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    await answer(id, { answer: 'MySQL 9.', feedback: 'We know it.' })
    await board.untilStatus(id, 'completed')
    expect(await lastWords(id)).toContain('{"answered":true,"answer":"MySQL 9.","comment":"We know it."}')
  })

  test('returns that a person leaves the decision to the agent', async () => {
    const { id } = await start({ ask: [which] })
    await questions(id)
    await answer(id, { approved: false })
    await board.untilStatus(id, 'completed')
    expect(await lastWords(id)).toContain('{"answered":true,"answer":null,"comment":""}')
  })

  test('stays open if the agent gives the call up and ends its turn: the answer continues the session', async () => {
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
    expect(await lastWords(id)).toContain(
      `I received: The answer to your question "${which.question}":\n\nPostgres\n\nThe answer to your question "Which region?":\n\nEurope.`,
    )
  })

  test('is asked once for calls with the same words', async () => {
    const { id } = await start({ ask: [which, which] })
    await questions(id)
    await answer(id, { optionId: '1' })
    await board.untilStatus(id, 'completed')
    expect((await lastWords(id)).match(/"answer":"Postgres"/g)).toHaveLength(2)
  })

  test('is refused beyond five open ones', async () => {
    const { id } = await start({ ask: Array.from({ length: 6 }, (_, at) => ({ question: `Number ${at}` })) })
    const open = await questions(id, 5)
    for (const { requestId } of open) await answer(id, { requestId, answer: 'Yes.' })
    await board.untilStatus(id, 'completed')
    expect(await lastWords(id)).toContain('At most 5 questions can be open. Wait for their answers.')
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
  ])('is refused with %s', async (_, question, field) => {
    const { id } = await start({ ask: [question] })
    await board.untilStatus(id, 'completed')
    expect(await lastWords(id)).toContain(`"path":"${field}`)
  })
})

test('a question whose call waits does not delay the end of the server, and its session is interrupted', async () => {
  const before = await startFolderBoard({ asking: { fixture: 'asking-people' } })
  const { id } = await before.start('asking', { prompt: JSON.stringify({ ask: [which] }) })
  const place = { projectId: before.projectId, cardId: id }
  await eventually('the question', async () => (await before.client.agents.get(place)).questions.length === 1)
  const began = performance.now()
  await before.server.stop()
  expect(performance.now() - began).toBeLessThan(15_000)
  const after = await startBoard({ dataDir: before.dataDir })
  expect(await after.client.agents.get(place)).toMatchObject({ status: 'interrupted', questions: [] })
  await after.client.agents.retry(place)
  await eventually('the end', async () => (await after.client.cards.get(place)).status === 'completed')
  await after.close()
  await before.close()
})
