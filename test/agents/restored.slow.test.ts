import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard({ forever: { fixture: 'forever' }, good: { fixture: 'well-behaved' } })
})
afterAll(() => board.close())

test('a restore ends every agent, interrupts the sessions of the backup, and agents work on the restored board', async () => {
  const { id: first } = await board.start('forever')
  await board.untilStatus(first, 'running')
  const { token } = await board.client.agents.token({ projectId: board.projectId, cardId: first })
  const { filename } = await board.client.backups.create()
  const { id: second } = await board.start('forever')
  await board.untilStatus(second, 'running')
  await eventually('two agents', () => board.processes().length > 1, 10_000)
  await board.client.backups.restore({ filename })
  await board.untilNoneRuns()
  expect(await board.card(first)).toMatchObject({ status: 'interrupted', statusReason: 'server_restart' })
  expect((await board.request('GET', `/api/projects/${board.projectId}/cards/${second}`)).status).toBe(404)
  expect(
    (await board.request('POST', '/api/mcp', { token, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } })).status,
  ).toBe(401)
  const { id: third } = await board.start('good')
  await board.untilStatus(third, 'completed')
})
