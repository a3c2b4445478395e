import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

const calls = [
  ['add_comment', { body: 'Done.' }],
  ['create_card', { title: 'Found' }],
]
let board: AgentBoard
beforeAll(async () => {
  const env = { FIXTURE_CALLS: JSON.stringify(calls) }
  board = await startFolderBoard({ scribe: { name: 'House Scribe', fixture: 'mcp-user', env } })
})
afterAll(() => board.close())

test('messages and actions of an agent appear under its public name', async () => {
  const { client, projectId } = board
  const { id: cardId } = await board.start('scribe')
  await board.untilStatus(cardId, 'completed')
  const { items: comments } = await client.comments.list({ projectId, cardId })
  expect(comments.map(({ author, body }) => [author, body])).toEqual([
    [{ kind: 'agent', userId: null, displayName: 'House Scribe' }, 'Done.'],
  ])
  const { items } = await client.activity.list({ projectId, cardId })
  const { sessionId: id } = (await client.agents.sessions({ projectId, cardId }))[0]!
  const byAgent = items.filter(({ actor }) => actor.kind === 'agent').map(({ actor, action }) => [action, actor])
  const actor = { kind: 'agent', id, name: 'House Scribe' }
  expect(byAgent).toEqual([
    ['run.ended', actor],
    ['comment.created', actor],
  ])
  const found = (await client.cards.list({ projectId })).find(({ title }) => title === 'Found')!
  expect(found.creatorName).toBe('House Scribe')
})
