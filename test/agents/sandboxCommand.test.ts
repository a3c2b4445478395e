import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
afterEach(() => board.close())
const messages = async (cardId: string) => (await board.messages(cardId)).map(({ content }) => content).join('\n')

test('a custom command wraps agents and terminal cards, with their folder and writable paths', async () => {
  board = await startAgentBoard(
    { well: { fixture: 'well-behaved' } },
    { sandbox: 'require', sandboxCommand: 'env SANDBOX={folder} WORKS_IN={cwd} {command}' },
  )
  expect(await board.client.agents.sandbox()).toMatchObject({ mode: 'require', kind: 'command', reason: null })
  const { id } = await board.client.cards.create({
    projectId: board.projectId,
    title: 'Shell',
    kind: 'terminal',
    command: 'echo "sandbox $SANDBOX, works in $WORKS_IN"; echo "with spaces and  $((1 + 1))"',
    columnId: board.columns.active,
  })
  await board.untilStatus(id, 'completed')
  const folder = join(board.dataDir, 'worktrees', board.projectId, id)
  expect(await messages(id)).toContain(`sandbox ${folder}, works in ${folder}\nwith spaces and  2`)
  expect(await board.client.agents.get({ projectId: board.projectId, cardId: id })).toMatchObject({
    sandbox: { kind: 'command', network: 'full' },
  })
  const { id: agentCard } = await board.start('well')
  await board.untilStatus(agentCard, 'completed')
  expect(await board.client.agents.get({ projectId: board.projectId, cardId: agentCard })).toMatchObject({
    sandbox: { kind: 'command' },
  })
})

test('a command that cannot run fails the card, and a network that it cannot restrict is rejected', async () => {
  board = await startAgentBoard(
    { well: { fixture: 'well-behaved' } },
    { sandbox: 'require', sandboxCommand: '/nowhere/wall {command}' },
  )
  const { id } = await board.start('well')
  expect(await board.untilStatus(id, 'failed')).toMatchObject({ statusReason: 'launch_failed' })
  await board.client.projects.update({ id: board.projectId, sandbox: { network: 'none' } })
  const { id: restricted } = await board.start('well')
  expect(await board.untilStatus(restricted, 'failed')).toMatchObject({
    statusReason: 'launch_failed',
    lastAgentAction: { detail: expect.stringContaining('which requires bubblewrap') as string },
  })
})
