import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

interface Call {
  always?: boolean
  call?: object
  told?: object
  question?: string
}
const rawInput = { detail: 'I test.' }
/** Questions about the board's own tools, in the forms of Claude Code, Codex and others. */
const ownTools: Record<string, Call> = {
  'by the name of the protocol': { call: { name: 'mcp__board__report_progress' } },
  'as Claude Code announces it': { told: { _meta: { claudeCode: { toolName: 'mcp__board__report_progress' } } } },
  'as Codex announces it': {
    told: { title: 'mcp.board.report_progress', kind: 'execute', _meta: { is_mcp_tool_call: true } },
  },
}
/** Questions that a user must answer, regardless of their appearance, and the form in which they are asked. */
const otherTools: Record<string, Call> = {
  'a title invented by the model': {
    call: { title: 'mcp__board__report_progress' },
    question: 'mcp__board__report_progress',
  },
  'an input invented by the model': {
    call: {
      title: 'Run',
      rawInput: {
        name: 'mcp__board__report_progress',
        _meta: { toolName: 'mcp__board__report_progress' },
        server: 'board',
      },
    },
    question: 'Run',
  },
  'names that contradict each other': {
    call: { title: 'Run', name: 'Bash' },
    told: { _meta: { toolName: 'mcp__board__report_progress' } },
    question: 'Run',
  },
  'a tool of the board that runs commands': {
    call: { title: 'Watch', name: 'mcp__board__add_monitor' },
    question: 'Watch',
  },
  'a tool of the board that runs commands, as Claude Code announces it': {
    call: { title: 'Watch' },
    told: { _meta: { claudeCode: { toolName: 'mcp__board__add_monitor' } } },
    question: 'Watch',
  },
  'a tool of the board that runs commands, as Codex announces it': {
    call: { title: 'Watch' },
    told: { title: 'mcp.board.add_monitor', kind: 'execute', _meta: { is_mcp_tool_call: true } },
    question: 'Watch',
  },
  'a tool that the board does not have': { call: { title: 'Run', name: 'mcp__board__run_anything' }, question: 'Run' },
  'a tool of the board, with only a permanent permission as an option': {
    always: true,
    call: { title: 'Say it', name: 'mcp__board__report_progress' },
    question: 'Say it',
  },
  'a tool of a server with a longer name': { call: { title: 'Run', name: 'mcp__board__more__run' }, question: 'Run' },
  "a title like Codex's from another agent": {
    told: { title: 'mcp.board.report_progress' },
    question: 'Write allowed.txt',
  },
  'an input in place of a title': {
    call: { title: '{"detail":"I test."}', rawInput, name: 'mcp__other__deploy' },
    question: 'mcp__other__deploy (detail: I test.)',
  },
}
const asking = ({ call, told, always }: Call) => ({
  fixture: 'permission-first',
  env: {
    ...(always && { FIXTURE_ALWAYS: '1' }),
    ...(call && { FIXTURE_CALL: JSON.stringify(call) }),
    ...(told && { FIXTURE_TOLD: JSON.stringify(told) }),
  },
})
const idOf = (what: string) => what.toLowerCase().replace(/\W+/g, '-')

let board: AgentBoard
beforeAll(async () => {
  const variants = Object.entries({ ...ownTools, ...otherTools }).map(([what, call]) => [idOf(what), asking(call)])
  board = await startFolderBoard({
    asking: { fixture: 'permission-first' },
    planning: { fixture: 'plan-approval' },
    double: { fixture: 'two-questions' },
    ...Object.fromEntries(variants),
  })
})
afterAll(() => board.close())
// All cards work in the project's folder.
afterEach(() => {
  for (const file of ['allowed.txt', 'first.txt', 'second.txt', 'plan.txt']) rmSync(fileOf(file), { force: true })
})

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const fileOf = (file: string) => join(board.path, file)
const events = (cardId: string, type: string) =>
  board.socket.messages
    .filter(message => message.type === type && message.data.cardId === cardId)
    .map(({ data }) => data)

test('an agent that asks for permission waits until a user grants it', async () => {
  const { id } = await board.start('asking')
  const waiting = await board.untilStatus(id, 'waiting')
  expect(waiting).toMatchObject({
    hasActiveAgent: true,
    lastAgentAction: { type: 'waiting', detail: 'Write allowed.txt' },
  })
  expect(await board.client.agents.get(ref(id))).toMatchObject({ status: 'waiting', waitingFor: 'Write allowed.txt' })
  await eventually('the question on the socket', () => events(id, 'agent.permission').length === 1)
  expect(events(id, 'agent.permission')[0]).toMatchObject({
    title: 'Write allowed.txt',
    kind: 'edit',
    options: [{ id: 'yes', kind: 'allow_once' }, { id: 'always' }, { id: 'no' }],
  })
  await board.client.agents.approvePlan({ ...ref(id), approved: true })
  await board.untilStatus(id, 'completed')
  expect(await board.client.agents.get(ref(id))).toMatchObject({ waitingFor: null })
  expect(existsSync(fileOf('allowed.txt'))).toBe(true)
  expect(events(id, 'agent.status').map(({ status }) => status)).toEqual([
    'queued',
    'running',
    'waiting',
    'running',
    'completed',
  ])
})

test('a permission that a user rejects is refused to the agent', async () => {
  const { id } = await board.start('asking')
  await board.untilStatus(id, 'waiting')
  await board.client.agents.approvePlan({ ...ref(id), approved: false })
  await board.untilStatus(id, 'completed')
  expect(existsSync(fileOf('allowed.txt'))).toBe(false)
  await expect(board.client.agents.approvePlan({ ...ref(id), approved: true })).rejects.toMatchObject({
    code: 'NOTHING_TO_APPROVE',
  })
})

test('a plan that is rejected with feedback is revised with it, and executed when it is approved', async () => {
  const { id } = await board.start('planning')
  await board.untilStatus(id, 'waiting')
  await board.client.agents.approvePlan({ ...ref(id), approved: false, feedback: 'Test it first.' })
  await eventually('the second plan', () => events(id, 'agent.permission').length === 2)
  await board.untilStatus(id, 'waiting')
  expect((await board.messages(id)).filter(({ role }) => role === 'tool').at(-1)!).toMatchObject({
    tool: { input: { plan: expect.stringContaining('Feedback: Test it first.') } },
  })
  expect(existsSync(fileOf('plan.txt'))).toBe(false)
  await board.client.agents.approvePlan({ ...ref(id), approved: true })
  await board.untilStatus(id, 'completed')
  expect(existsSync(fileOf('plan.txt'))).toBe(true)
})

test('an answer applies only to the question that it names: the next one stays open', async () => {
  const { id } = await board.start('double')
  const questions = await eventually('two questions', async () => {
    const open = (await board.client.agents.get(ref(id))).questions
    return open.length === 2 ? open : undefined
  })
  expect(questions.map(({ title }) => title)).toEqual(['Write first.txt', 'Write second.txt'])
  const [first, second] = questions.map(({ requestId }) => requestId) as [string, string]
  await eventually('both on the socket', () => events(id, 'agent.permission').length === 2)
  expect(events(id, 'agent.permission').map(({ requestId }) => requestId)).toEqual([first, second])
  await expect(board.client.agents.approvePlan({ ...ref(id), approved: true })).rejects.toMatchObject({
    code: 'CONFLICT',
    details: [
      { path: 'requestId', message: `${first}: Write first.txt` },
      { path: 'requestId', message: `${second}: Write second.txt` },
    ],
  })
  await board.client.agents.approvePlan({ ...ref(id), approved: true, requestId: first })
  await expect(
    board.client.agents.approvePlan({ ...ref(id), approved: true, requestId: first, feedback: 'Not sent.' }),
  ).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
  expect(await board.client.agents.get(ref(id))).toMatchObject({
    status: 'waiting',
    waitingFor: 'Write second.txt',
    questions: [{ requestId: second }],
  })
  expect(existsSync(fileOf('second.txt'))).toBe(false)
  await board.client.agents.approvePlan({ ...ref(id), approved: false })
  await board.untilStatus(id, 'completed')
  expect([existsSync(fileOf('first.txt')), existsSync(fileOf('second.txt'))]).toEqual([true, false])
  expect(JSON.stringify(await board.messages(id))).not.toContain('Not sent.')
})

test('an agent that waits for an answer can be cancelled', async () => {
  const { id } = await board.start('asking')
  await board.untilStatus(id, 'waiting')
  await board.client.agents.cancel(ref(id))
  expect(await board.card(id)).toMatchObject({ status: 'cancelled' })
  await expect(board.client.agents.approvePlan({ ...ref(id), approved: true })).rejects.toMatchObject({
    code: 'NOTHING_TO_APPROVE',
  })
  await board.untilNoneRuns()
  expect(await board.card(id)).toMatchObject({ status: 'cancelled', statusReason: 'cancelled' })
})

test.each(Object.keys(ownTools))(
  'an agent that asks for a tool of the board (%s) does not wait for a user',
  async what => {
    const { id } = await board.start(idOf(what))
    await board.untilStatus(id, 'completed')
    expect(existsSync(fileOf('allowed.txt'))).toBe(true)
    expect(events(id, 'agent.permission')).toEqual([])
    await expect
      .poll(() => events(id, 'agent.status').map(({ status }) => status))
      .toEqual(['queued', 'running', 'completed'])
  },
)

test.each(Object.entries(otherTools))('an agent that asks for %s waits for a user', async (what, { question }) => {
  const { id } = await board.start(idOf(what))
  expect((await board.untilStatus(id, 'waiting')).lastAgentAction).toMatchObject({ detail: question })
  expect(existsSync(fileOf('allowed.txt'))).toBe(false)
  await board.client.agents.cancel(ref(id))
})
