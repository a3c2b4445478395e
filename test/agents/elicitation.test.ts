import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ eliciting: { fixture: 'eliciting' } })
  await board.client.projects.update({
    id: board.projectId,
    approvalPolicy: { default: 'refuse', allow: [], refuse: [] },
  })
})
afterAll(() => board.close())

const message = 'How should I store it?'
const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const start = (form: object) => board.start('eliciting', { prompt: JSON.stringify({ message, ...form }) })
const questionOf = (cardId: string, isOther: (title: string) => boolean = () => true) =>
  eventually('the question', async () => {
    const [question] = (await board.client.agents.get(ref(cardId))).questions
    return question && isOther(question.title) ? question : undefined
  })
const answered = async (cardId: string) => {
  await board.untilStatus(cardId, 'completed')
  return JSON.parse((await board.messages(cardId)).findLast(({ role }) => role === 'agent')!.content)
}
const answer = (cardId: string, given: object) =>
  board.client.agents.approvePlan({ ...ref(cardId), approved: true, ...given })

const database = {
  type: 'string',
  title: 'Database',
  oneOf: [
    { const: 'pg', title: 'Postgres' },
    { const: 'sq', title: 'SQLite' },
  ],
}
const form = (properties: object, required = Object.keys(properties)) => ({
  form: { type: 'object', properties, required },
})

describe('a form of an agent', () => {
  test('is a question with options that no policy answers', async () => {
    const { id } = await start(form({ database }))
    expect(await questionOf(id)).toMatchObject({
      title: message,
      kind: 'question',
      takesText: false,
      options: [
        { id: '1', name: 'Postgres' },
        { id: '2', name: 'SQLite' },
        { id: '0', kind: 'reject_once' },
      ],
    })
    await answer(id, { optionId: '2' })
    expect(await answered(id)).toEqual({ action: 'accept', content: { database: 'sq' } })
    expect((await board.messages(id)).map(({ content }) => content)).toContain(
      `The answer to your question "${message}":\n\nSQLite`,
    )
  })

  test('shows its fields one after another, and repeats a field after an invalid answer', async () => {
    const { id } = await start(
      form({
        name: { type: 'string', title: 'Name', minLength: 2 },
        size: { type: 'integer', title: 'Size', minimum: 1 },
        tables: { type: 'array', title: 'Tables', items: { type: 'string', enum: ['a', 'b', 'c'] } },
        isNew: { type: 'boolean', title: 'New' },
      }),
    )
    for (const [title, given] of [
      ['Name', { answer: 'x' }],
      ['Name (at least 2 characters)', { answer: 'xy' }],
      ['Size', { answer: 'many' }],
      ['Size (a whole number)', { answer: '0' }],
      ['Size (at least 1)', { answer: '3' }],
      ['Tables', { answer: 'a, d' }],
      ['Tables (name options, with commas between them)', { answer: 'a, c' }],
      ['New', { optionId: '2' }],
    ] as const) {
      const question = await questionOf(id, shown => shown === `${message}: ${title}`)
      await answer(id, { ...given, requestId: question.requestId })
    }
    expect(await answered(id)).toEqual({
      action: 'accept',
      content: { name: 'xy', size: 3, tables: ['a', 'c'], isNew: false },
    })
  })

  test('is declined if a user leaves a required field to the agent, and omits an optional one', async () => {
    const { id } = await start(form({ database }))
    await questionOf(id)
    await answer(id, { approved: false })
    expect(await answered(id)).toEqual({ action: 'decline' })
    const other = await start(form({ database }, []))
    await questionOf(other.id)
    await answer(other.id, { approved: false, optionId: '0' })
    expect(await answered(other.id)).toEqual({ action: 'accept', content: {} })
  })

  test.each([
    ['an address', { mode: 'url', elicitationId: 'one', url: 'https://example.org/' }],
    ['no fields', form({})],
    ['a required field of an unknown type', form({ file: { type: 'object' } })],
    ['11 fields', form(Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`f${at}`, database])))],
  ])('is cancelled with %s', async (_, request) => {
    const { id } = await start(request)
    expect(await answered(id)).toMatchObject({ action: 'cancel' })
  })

  test('ends with the turn', async () => {
    const { id } = await start(form({ database }))
    await questionOf(id)
    await board.client.agents.cancel(ref(id))
    expect(await board.client.agents.get(ref(id))).toMatchObject({ status: 'cancelled', questions: [] })
  })
})
