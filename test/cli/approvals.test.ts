import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let cli: CommandLine
beforeAll(async () => {
  board = await startFolderBoard({ asking: { fixture: 'asks-as-told' }, people: { fixture: 'asking-people' } })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const waiting = async (told: object) => {
  const { id } = await board.start('asking', { prompt: JSON.stringify(told) })
  await board.untilStatus(id, 'waiting')
  const { questions } = await board.client.agents.get({ projectId: board.projectId, cardId: id })
  return { id, requestId: questions[0]!.requestId }
}
const lastMessage = async (cardId: string) => {
  await board.untilStatus(cardId, 'completed')
  return (await board.messages(cardId)).findLast(({ role }) => role === 'agent')?.content
}
const shell = { kind: 'execute', title: 'A harmless thing', rawInput: { command: 'rm -rf /\ndate' } }
const plan = { kind: 'switch_mode', title: 'Ready to code?', rawInput: { plan: '# The plan\n\n1. Do it.' } }

test('agents view shows the command, the possible answers, and how to give one', async () => {
  const { id, requestId } = await waiting({ call: shell })
  const { stderr } = await cli.board(['agents', 'view', id])
  expect(stderr).toBe(
    [
      'Question: A harmless thing',
      '$ rm -rf /',
      '  date',
      'Answers: yes (Allow), always (Always allow), no (Reject)',
      `Answer with: board agents approve ${id} --request ${requestId}`,
      '',
    ].join('\n'),
  )
  await cli.ok(['agents', 'approve', id])
  expect(await lastMessage(id)).toBe('Allowed: yes.')
})

test('cards wait names the command that answers a question of ask_person in a turn', async () => {
  const ask = [{ question: 'Which database?', options: ['Postgres', 'SQLite'] }]
  const { id } = await board.start('people', { prompt: JSON.stringify({ ask, says: 'Noted.' }) })
  await board.untilStatus(id, 'waiting')
  const { code, stderr } = await cli.board(['cards', 'wait', id, '--exit-status'])
  expect(code).toBe(1)
  expect(stderr).toContain(`answer with: board agents answer ${id} "..."\n`)
  await cli.ok(['agents', 'answer', id, 'Postgres'])
  await board.untilStatus(id, 'completed')
})

test('agents view shows a plan', async () => {
  const { id } = await waiting({ call: plan })
  expect((await cli.board(['agents', 'view', id])).stderr).toContain(
    'Question: Ready to code?\n# The plan\n\n1. Do it.\n',
  )
  await cli.ok(['agents', 'approve', id, '--reject'])
  expect(await lastMessage(id)).toBe('Refused: no.')
})

test.each([
  [['--always'], 'Allowed: always.'],
  [['--option', 'always'], 'Allowed: always.'],
  [['--option', 'no'], 'Refused: no.'],
])('approve %j selects the named answer of the agent', async (options, words) => {
  const { id, requestId } = await waiting({ call: shell })
  await cli.ok(['agents', 'approve', id, '--request', requestId, ...options])
  expect(await lastMessage(id)).toBe(words)
})

test('approve rejects an answer that is not offered or contradicts itself, and the question stays open', async () => {
  const { id } = await waiting({ call: shell })
  const say = (...options: string[]) => cli.board(['agents', 'approve', id, ...options])
  expect(await say('--option', 'ever')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('offered answers: yes (Allow), always (Always allow), no (Reject)'),
  })
  expect((await say('--option', 'yes', '--reject')).code).toBe(2)
  expect((await say('--option', 'yes', '--always')).code).toBe(2)
  expect((await say('--reject', '--always')).code).toBe(2)
  await cli.ok(['agents', 'approve', id, '--option', 'yes'])
  expect(await lastMessage(id)).toBe('Allowed: yes.')
})

test('projects edit sets the approval policy, one part at a time, and view shows it', async () => {
  const policy = async () => (await board.client.projects.get({ id: board.projectId })).approvalPolicy
  await cli.ok(['projects', 'edit', '--approve-default', 'allow_in_worktree', '--approve-allow', 'git status'])
  await cli.ok(['projects', 'edit', '--approve-refuse', 'git push', '--approve-refuse', 'rm'])
  expect(await policy()).toEqual({ default: 'allow_in_worktree', allow: ['git status'], refuse: ['git push', 'rm'] })
  expect(await cli.ok(['projects', 'view'])).toContain(
    'approvalPolicy\tallow_in_worktree; allow: git status; refuse: git push, rm\n',
  )
  await cli.ok(['projects', 'edit', '--approve-allow', 'none', '--approve-refuse', 'none', '--approve-default', 'ask'])
  expect(await policy()).toEqual({ default: 'ask', allow: [], refuse: [] })
  expect((await cli.board(['projects', 'edit', '--approve-default', 'maybe'])).code).toBe(2)
})

test.each(['allow', 'refuse'])('projects edit states the allowed form of a prefix to %s', async list => {
  const { code, stderr } = await cli.board(['projects', 'edit', `--approve-${list}`, 'git; date'])
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: [
      `board: --approve-${list} must be a command prefix of plain words, without shell operators`,
      `specify the first words of one command, without quotes or shell operators: --approve-${list} "npm test"`,
      '',
    ].join('\n'),
  })
})

const which = { question: 'Which database should I use?\nIt stores 3 tables.', options: ['Postgres', 'SQLite'] }
const asked = async (questions: object[] = [which]) => {
  const { id } = await board.start('people', { prompt: JSON.stringify({ ask: questions }) })
  const ref = { projectId: board.projectId, cardId: id }
  await eventually(
    'the questions',
    async () => (await board.client.agents.get(ref)).questions.length === questions.length,
  )
  return id
}

test('agents view shows a question as text, and how to answer it', async () => {
  const id = await asked()
  const [question] = (await board.client.agents.get({ projectId: board.projectId, cardId: id })).questions
  expect((await cli.board(['agents', 'view', id])).stderr).toBe(
    [
      'Question: Which database should I use?',
      'It stores 3 tables.',
      'Answers: 1 (Postgres), 2 (SQLite)',
      `Answer with: board agents answer ${id} --request ${question!.requestId} "..."`,
      '',
    ].join('\n'),
  )
  await cli.ok(['agents', 'answer', id, '--decline'])
})

test.each([
  [['Use MySQL.'], 'Use MySQL.'],
  [['--option', 'SQLite'], 'SQLite'],
  [['--option', '1'], 'Postgres'],
  [['--decline'], null],
])('agents answer %j sends the answer to the turn', async (args, answer) => {
  const id = await asked()
  expect(await cli.board(['agents', 'approve', id])).toMatchObject({ code: 2 })
  await cli.ok(['agents', 'answer', id, ...args])
  expect(await lastMessage(id)).toContain(JSON.stringify({ answered: true, answer, comment: '' }))
})

test('agents answer exits with 2 for another option and without an answer, and with 5 if no or several questions are open', async () => {
  const id = await asked([which, { question: 'Which region?' }])
  expect(await cli.board(['agents', 'answer', id, 'Europe.'])).toMatchObject({ code: 5 })
  const { questions } = await board.client.agents.get({ projectId: board.projectId, cardId: id })
  const region = questions.find(({ title }) => title === 'Which region?')!.requestId
  await cli.ok(['agents', 'answer', id, 'Europe.', '--request', region])
  expect(await cli.board(['agents', 'answer', id, '--option', 'MySQL'])).toMatchObject({ code: 2 })
  expect(await cli.board(['agents', 'answer', id, 'SQLite', '--decline'])).toMatchObject({ code: 2 })
  expect(await cli.board(['agents', 'answer', id])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no answer is specified') as string,
  })
  await cli.ok(['agents', 'answer', id, '--option', 'SQLite'])
  await lastMessage(id)
  expect(await cli.board(['agents', 'answer', id, 'SQLite'])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("the card's agent has no open question") as string,
  })
})
