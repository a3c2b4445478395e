import { afterAll, beforeAll, expect, test } from 'vitest'
import { contract } from '../../src/contract/index.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({
    asking: { fixture: 'permission-first' },
    filling: { fixture: 'filling-context', env: { FIXTURE_USED: '10' } },
  })
})
afterAll(() => board.close())

/** Events that only a running agent can cause; the walk through the contract checks the events of every other row. */
test.each([
  { name: 'relay', agent: 'filling', status: 'running', path: 'agent/relay', body: undefined },
  {
    name: 'approvePlan',
    agent: 'asking',
    status: 'waiting',
    path: 'agent/plan-approve',
    body: { approved: true, feedback: 'Mind the tests' },
  },
] as const)('agents.$name sends the events that the contract lists', async ({ name, agent, status, path, body }) => {
  const { id } = await board.start(agent)
  await board.untilStatus(id, status)
  const isTold = (since: number) =>
    contract.agents[name].emits.every(type =>
      board.socket.messages.some(message => message.seq > since && message.type === type),
    )
  const since = board.socket.seqs().at(-1)!
  const reply = await board.request('POST', `/api/projects/${board.projectId}/cards/${id}/${path}`, { body })
  expect([reply.status, reply.text]).toEqual([204, ''])
  await eventually('every event that the row declares', () => isTold(since))
})
