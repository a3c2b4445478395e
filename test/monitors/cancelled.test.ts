import { afterAll, beforeAll, expect, it } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
beforeAll(async () => {
  const monitor = { command: 'true', intervalSecs: 10, description: 'Of the agent', allowUnsandboxed: true }
  board = await startFolderBoard({
    watcher: {
      fixture: 'mcp-user',
      env: { FIXTURE_CALLS: JSON.stringify([['add_monitor', monitor]]), FIXTURE_STAYS: '1' },
    },
    endless: { fixture: 'forever' },
  })
})
afterAll(() => board.close())

it("an agent's monitor pauses when a user cancels the agent, and a user's own does not; the next start resumes it", async () => {
  const { projectId } = board
  const { id: cardId } = await board.start('watcher')
  const of = async (description: string) =>
    (await board.client.monitors.listProject({ projectId })).find(monitor => monitor.description === description)
  const reaches = (description: string, status: string) =>
    eventually(`${status}: ${description}`, async () => (await of(description))?.status === status)
  await reaches('Of the agent', 'ok')
  const { token } = await board.client.agents.token({ projectId, cardId })
  await board.as(token).monitors.create({
    projectId,
    cardId,
    command: 'true',
    intervalSecs: 10,
    description: 'Of a person',
    allowUnsandboxed: true,
  })
  await reaches('Of a person', 'ok')
  await board.client.agents.cancel({ projectId, cardId })
  await reaches('Of the agent', 'paused')
  expect((await of('Of the agent'))!.nextRunAt).toBeNull()
  expect((await of('Of a person'))!.status).not.toBe('paused')
  await board.client.cards.update({ projectId, cardId, agent: 'endless' })
  await board.client.agents.relaunch({ projectId, cardId })
  await reaches('Of the agent', 'ok')
  await board.client.agents.cancel({ projectId, cardId })
})
