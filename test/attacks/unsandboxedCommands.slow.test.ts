import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApprovalPolicy } from '../../src/contract/agents/approvalPolicy.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  const names = ['agent', 'gemini', 'copilot']
  board = await startAgentBoard(Object.fromEntries(names.map(name => [name, { fixture: 'asks-as-told' }])))
})
afterAll(() => board.close())

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const policies: Record<string, Partial<ApprovalPolicy>> = {
  'allows npm test': { allow: ['npm test'] },
  'allows work in the worktree': { default: 'allow_in_worktree', allow: ['npm test'] },
  'refuses npm test': { refuse: ['npm test'] },
  'refuses everything else': { default: 'refuse' },
}
const input = { command: 'npm test', intervalSecs: 60, allowUnsandboxed: true }
const id = 'mcp_board_add_monitor__1'
/** The question about the tool in the form of each well-known agent, and of an agent that hides the tool. */
const questions: Record<string, [object, string?]> = {
  'Claude Code': [{ call: { kind: 'other', title: 'Watch', name: 'mcp__board__add_monitor', rawInput: input } }],
  Codex: [
    {
      before: [
        {
          sessionUpdate: 'tool_call',
          toolCallId: id,
          title: 'mcp.board.add_monitor',
          kind: 'execute',
          _meta: { is_mcp_tool_call: true },
          rawInput: { server: 'board', tool: 'add_monitor', arguments: input },
        },
      ],
      call: { toolCallId: id, kind: 'execute', title: 'npm test' },
    },
  ],
  'Gemini CLI': [
    { call: { toolCallId: id, kind: 'other', title: 'add_monitor (board MCP Server)', rawInput: input } },
    'gemini',
  ],
  'GitHub Copilot CLI': [
    {
      before: [{ sessionUpdate: 'tool_call', toolCallId: id, title: 'board-add_monitor', kind: 'other' }],
      call: { toolCallId: id, kind: 'other', title: 'Create a monitor', rawInput: input },
    },
    'copilot',
  ],
  'an agent that calls it a command': [{ call: { kind: 'execute', title: 'npm test', rawInput: input } }],
}

test.each(Object.keys(policies))('a policy that %s answers npm test, and not add_monitor', async name => {
  const approvalPolicy = { default: 'ask' as const, allow: [], refuse: [], ...policies[name] }
  await board.client.projects.update({ id: board.projectId, approvalPolicy })
  const start = async (told: object, agent = 'agent') =>
    (await board.start(agent, { prompt: JSON.stringify(told), useWorktree: true })).id
  const control = await start({ call: { kind: 'execute', title: 'Test it', rawInput: { command: 'npm test' } } })
  await board.untilStatus(control, 'completed')
  for (const [agent, question] of Object.entries(questions)) {
    const cardId = await start(...question)
    const { status } = await board.until(cardId, 'an answer', each => ['waiting', 'completed'].includes(each.status))
    expect([agent, status]).toEqual([agent, 'waiting'])
    await board.client.agents.approvePlan({ ...ref(cardId), approved: false })
    await board.untilStatus(cardId, 'completed')
  }
})
