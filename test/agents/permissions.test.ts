import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../helper.ts'
import { startAgentBoard, type AgentBoard } from './agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard({ asking: { fixture: 'permission-first' }, planning: { fixture: 'plan-approval' } })
}, 30_000)
afterAll(() => board.close())

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const fileOf = (cardId: string, file: string) => join(board.dataDir, 'worktrees', board.projectId, cardId, file)
const events = (cardId: string, type: string) => board.socket.messages.filter(message => message.type === type && message.data.cardId === cardId).map(({ data }) => data)

test('an agent that asks for permission waits until a person gives it', async () => {
  const { id } = await board.start('asking')
  const waiting = await board.untilStatus(id, 'waiting')
  expect(waiting).toMatchObject({ hasActiveAgent: true, lastAgentAction: { type: 'waiting', detail: 'Write allowed.txt' } })
  await eventually('the question on the socket', () => events(id, 'agent.permission').length === 1)
  expect(events(id, 'agent.permission')[0]).toMatchObject({ title: 'Write allowed.txt', kind: 'edit', options: [{ id: 'yes', kind: 'allow_once' }, { id: 'always' }, { id: 'no' }] })
  await board.client.agents.approvePlan({ ...ref(id), approved: true })
  await board.untilStatus(id, 'completed')
  expect(existsSync(fileOf(id, 'allowed.txt'))).toBe(true)
  expect(events(id, 'agent.status').map(({ status }) => status)).toEqual(['queued', 'running', 'waiting', 'running', 'completed'])
})

test('a permission that is refused is refused to the agent', async () => {
  const { id } = await board.start('asking')
  await board.untilStatus(id, 'waiting')
  await board.client.agents.approvePlan({ ...ref(id), approved: false })
  await board.untilStatus(id, 'completed')
  expect(existsSync(fileOf(id, 'allowed.txt'))).toBe(false)
  await expect(board.client.agents.approvePlan({ ...ref(id), approved: true })).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
})

test('a plan that is refused with feedback is made again with it, and carried out when it is approved', async () => {
  const { id } = await board.start('planning')
  await board.untilStatus(id, 'waiting')
  await board.client.agents.approvePlan({ ...ref(id), approved: false, feedback: 'Test it first.' })
  await eventually('the second plan', () => events(id, 'agent.permission').length === 2)
  await board.untilStatus(id, 'waiting')
  expect((await board.messages(id)).filter(({ role }) => role === 'tool').at(-1)!).toMatchObject({ tool: { input: { plan: expect.stringContaining('Asked: Test it first.') } } })
  expect(existsSync(fileOf(id, 'plan.txt'))).toBe(false)
  await board.client.agents.approvePlan({ ...ref(id), approved: true })
  await board.untilStatus(id, 'completed')
  expect(existsSync(fileOf(id, 'plan.txt'))).toBe(true)
})

test('an agent that waits for an answer can be cancelled', async () => {
  const { id } = await board.start('asking')
  await board.untilStatus(id, 'waiting')
  await board.client.agents.cancel(ref(id))
  expect(await board.card(id)).toMatchObject({ status: 'cancelled' })
  await expect(board.client.agents.approvePlan({ ...ref(id), approved: true })).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
  await board.untilNoneRuns()
  expect(await board.card(id)).toMatchObject({ status: 'cancelled', statusReason: 'cancelled' })
})
