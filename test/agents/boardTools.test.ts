import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

const fixture = { fixture: 'asks-as-told' }
let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ claude: fixture, codex: fixture, gemini: fixture, copilot: fixture, other: fixture })
})
afterAll(() => board.close())

type Told = Record<string, unknown>
interface Asked {
  agent: string
  before?: Told[]
  call: Told
  after?: Told[]
}
const begins = (call: Told): Told => ({ sessionUpdate: 'tool_call', status: 'pending', toolCallId: 'c1', ...call })
const ends = (toolCallId: string): Told => ({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
const detail = { detail: 'p' }
const newCard = { title: 'New', prompt: 'Do it' }
const content = (text: string) => [{ type: 'content', content: { type: 'text', text } }]

/** Recorded questions of the real agents. */
const ownTools: Record<string, Asked> = {
  'Claude Code, which names the tool after it asks': {
    agent: 'claude',
    call: { toolCallId: 'c1', rawInput: detail, title: 'mcp__board__report_progress', kind: 'other', content: [] },
    after: [begins({ _meta: { claudeCode: { toolName: 'mcp__board__report_progress' } } })],
  },
  'Codex, whose question does not name the tool': {
    agent: 'codex',
    before: [
      begins({
        kind: 'execute',
        title: 'mcp.board.report_progress',
        rawInput: { server: 'board', tool: 'report_progress', arguments: detail },
        _meta: { is_mcp_tool_call: true },
      }),
    ],
    call: { toolCallId: 'c1', kind: 'execute' },
  },
  'Gemini CLI, which names the tool in the id': {
    agent: 'gemini',
    call: {
      toolCallId: 'mcp_board_report_progress__c1',
      title: 'report_progress (board MCP Server)',
      content: content('{"detail":"p"}'),
      kind: 'other',
    },
  },
  'GitHub Copilot CLI, which names the tool in the title': {
    agent: 'copilot',
    before: [begins({ title: 'board-report_progress', kind: 'other', rawInput: detail })],
    call: { toolCallId: 'c1', title: 'Report progress', kind: 'other', rawInput: detail },
  },
  'GitHub Copilot CLI, which reports a tool that creates as an edit': {
    agent: 'copilot',
    before: [begins({ title: 'board-create_card', kind: 'edit', rawInput: newCard })],
    call: { toolCallId: 'c1', title: 'Create a card', kind: 'other', status: 'pending', rawInput: newCard },
  },
  'GitHub Copilot CLI, which reports a tool that deletes as a deletion': {
    agent: 'copilot',
    before: [begins({ title: 'board-delete_monitor', kind: 'delete', rawInput: { monitorId: '1' } })],
    call: {
      toolCallId: 'c1',
      title: 'Delete a monitor',
      kind: 'other',
      status: 'pending',
      rawInput: { monitorId: '1' },
    },
  },
}

/** Calls that a model could craft to look like a tool of the board. */
const lookAlikes: Record<string, Asked> = {
  'a command of Codex that is named like a tool': {
    agent: 'codex',
    before: [begins({ kind: 'execute', title: 'mcp.board.report_progress', rawInput: { command: 'x' } })],
    call: { toolCallId: 'c1', kind: 'execute', title: 'mcp.board.report_progress', rawInput: { command: 'x' } },
  },
  'a command of Claude Code that is named like a tool': {
    agent: 'claude',
    call: { toolCallId: 'c1', kind: 'execute', title: 'mcp__board__report_progress', rawInput: { command: 'x' } },
    after: [begins({ kind: 'execute', _meta: { claudeCode: { toolName: 'Bash' } } })],
  },
  'a command of Claude Code under the id of an ended call': {
    agent: 'claude',
    before: [begins({ _meta: { claudeCode: { toolName: 'mcp__board__report_progress' } } }), ends('c1')],
    call: { toolCallId: 'c1', kind: 'execute', title: 'touch x', rawInput: { command: 'touch x' } },
  },
  'a command of GitHub Copilot CLI that is described like a tool': {
    agent: 'copilot',
    before: [begins({ title: 'board-report_progress', kind: 'execute', rawInput: { command: 'x' } })],
    call: { toolCallId: 'c1', title: 'board-report_progress', kind: 'execute', rawInput: { command: 'x' } },
  },
  'a command of GitHub Copilot CLI that is described like a tool that creates': {
    agent: 'copilot',
    before: [begins({ title: 'board-create_card', kind: 'execute', rawInput: { command: 'x' } })],
    call: { toolCallId: 'c1', title: 'Create a card', kind: 'other', rawInput: { command: 'x' } },
  },
  'an edit of GitHub Copilot CLI of a file that is named like a tool': {
    agent: 'copilot',
    before: [begins({ title: 'board-create_card', kind: 'edit', rawInput: { path: 'board-create_card' } })],
    call: { toolCallId: 'c1', title: 'Create a card', kind: 'edit', rawInput: { path: 'board-create_card' } },
  },
  'an edit of GitHub Copilot CLI that is titled like a tool that is not an edit': {
    agent: 'copilot',
    before: [begins({ title: 'board-report_progress', kind: 'edit', rawInput: detail })],
    call: { toolCallId: 'c1', title: 'Report progress', kind: 'other', rawInput: detail },
  },
  'a tool of another server of GitHub Copilot CLI that creates a card': {
    agent: 'copilot',
    before: [begins({ title: 'evil-create_card', kind: 'edit', rawInput: newCard })],
    call: { toolCallId: 'c1', title: 'Create a card', kind: 'other', rawInput: newCard },
  },
  'a tool of GitHub Copilot CLI that makes the board run a command': {
    agent: 'copilot',
    before: [begins({ title: 'board-add_monitor', kind: 'other', rawInput: { command: 'x', intervalSecs: 60 } })],
    call: { toolCallId: 'c1', title: 'Create a monitor', kind: 'other', rawInput: { command: 'x' } },
  },
  'a tool of another server that has the title of one of the board': {
    agent: 'copilot',
    before: [begins({ title: 'evil-report_progress', kind: 'other', rawInput: detail })],
    call: { toolCallId: 'c1', title: 'Report progress', kind: 'other', rawInput: detail },
  },
  'a tool of another server of Gemini CLI whose id has the same prefix': {
    agent: 'gemini',
    call: { toolCallId: 'mcp_board_report_progress__c1', title: 'progress (board_report MCP Server)', kind: 'other' },
  },
  'an id like that of Gemini CLI from another agent': {
    agent: 'other',
    call: { toolCallId: 'mcp_board_report_progress__c1', title: 'report_progress (board MCP Server)', kind: 'other' },
  },
  'a title like that of GitHub Copilot CLI from another agent': {
    agent: 'other',
    before: [begins({ title: 'board-report_progress', kind: 'other' })],
    call: { toolCallId: 'c1', title: 'Report progress', kind: 'other' },
  },
  'a tool of Gemini CLI that makes the board run a command': {
    agent: 'gemini',
    call: {
      toolCallId: 'mcp_board_add_monitor__c1',
      title: 'add_monitor (board MCP Server)',
      content: content('{"command":"x","intervalSecs":60}'),
      kind: 'other',
    },
  },
}

const ask = async ({ agent, ...told }: Asked) => (await board.start(agent, { prompt: JSON.stringify(told) })).id
const lastMessage = async (cardId: string) =>
  (await board.messages(cardId)).findLast(({ role }) => role === 'agent')?.content

test.each(Object.entries(ownTools))(
  'the question of %s about a harmless tool of the board is answered automatically',
  async (_, asked) => {
    const id = await ask(asked)
    await board.untilStatus(id, 'completed')
    expect(await lastMessage(id)).toBe('Allowed: yes.')
    expect(board.socket.messages.filter(each => each.type === 'agent.permission' && each.data.cardId === id)).toEqual(
      [],
    )
  },
)

test.each(Object.entries(lookAlikes))('%s requires a question', async (_, asked) => {
  const id = await ask(asked)
  await board.untilStatus(id, 'waiting')
  await board.client.agents.approvePlan({ projectId: board.projectId, cardId: id, approved: false })
  await board.untilStatus(id, 'completed')
  expect(await lastMessage(id)).toBe('Refused: no.')
})
