import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ well: { fixture: 'well-behaved' }, crash: { fixture: 'crash-in-turn' } })
})
afterAll(() => board.close())

const told = (cardId: string) =>
  board.client.logs
    .list({ search: `"cardId ${cardId}"` })
    .then(entries => entries.filter(({ source }) => source === 'agents').reverse())

test("the log records an agent's start and end, and none of its instructions", async () => {
  const { id } = await board.start('well', { prompt: 'A prompt that is private' })
  await board.untilStatus(id, 'completed')
  const entries = await eventually('both entries', async () => {
    const found = await told(id)
    return found.length === 2 ? found : undefined
  })
  expect(entries.map(({ level, message }) => [level, message])).toEqual([
    ['info', 'An agent starts.'],
    ['info', 'An agent has ended.'],
  ])
  expect(entries[1]!.fields).toMatchObject({
    cardId: Number(id),
    agent: 'well',
    status: 'completed',
    ms: expect.any(Number),
  })
  const crashed = await board.start('crash')
  await board.untilStatus(crashed.id, 'failed')
  const end = await eventually('the end', async () => (await told(crashed.id))[1])
  expect(end.fields).toMatchObject({ agent: 'crash', status: 'failed', reason: 'crashed' })
  expect(JSON.stringify(await board.client.logs.list({ limit: 1000 }))).not.toContain('business')
})
