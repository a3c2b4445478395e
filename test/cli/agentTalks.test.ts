import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let cli: CommandLine

beforeAll(async () => {
  board = await startFolderBoard({
    good: { fixture: 'well-behaved' },
    asking: { fixture: 'permission-first' },
    refining: { fixture: 'refining' },
    notes: { fixture: 'resumable' },
    crashing: { fixture: 'crash-in-turn' },
    endless: { fixture: 'forever' },
  })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

test('a prompt is refined, shown and accepted in a pre-session', async () => {
  const { id } = await board.client.cards.create({
    projectId: board.projectId,
    title: 'The roof',
    prompt: 'It leaks.',
    agent: 'refining',
  })
  const session = (await cli.ok(['presession', 'start', id, '-q'])).trim()
  await eventually(
    'the question',
    async () => (await cli.ok(['presession', 'messages', session])).includes('Which roof?'),
    15_000,
  )
  await eventually(
    'the end of the turn',
    async () => (await cli.json<{ status: string }>(['presession', 'view', session])).status === 'waiting',
    15_000,
  )
  expect(await cli.ok(['presession', 'view', session])).toContain('Fix the roof, round 1:')
  const answer = await cli.json<Array<{ role: string; content: string }>>([
    'presession',
    'send',
    session,
    'The one of the shed.',
    '--wait',
  ])
  expect(answer).toEqual([
    expect.objectContaining({
      role: 'agent',
      content: expect.stringContaining('Fix the roof, round 2:\nThe one of the shed.'),
    }),
  ])
  expect(await cli.json(['presession', 'accept', session])).toMatchObject({
    id,
    prompt: expect.stringContaining('Fix the roof, round 2'),
  })
  expect(await cli.json(['presession', 'view', session])).toMatchObject({ status: 'accepted', cardId: id })
  expect(await cli.ok(['presession', 'list'])).toMatch(
    new RegExp(`^${session}\\t${id}\\taccepted\\t.*\\tFix the roof, round 2`),
  )
  expect((await cli.board(['presession', 'send', session, 'More'])).code).toBe(5)
  expect((await cli.board(['presession', 'cancel', '9999'])).code).toBe(3)
})

test('a pre-session is started and awaited until its agent has answered or failed', async () => {
  const create = (agent: string) =>
    board.client.cards.create({ projectId: board.projectId, title: 'The roof', prompt: 'It leaks.', agent })
  expect(await cli.ok(['presession', 'start', (await create('refining')).id, '--wait'])).toContain('Which roof?')
  const failed = await cli.board(['presession', 'start', (await create('crashing')).id, '--wait'])
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('failed')])
  const late = await cli.board(['presession', 'start', (await create('endless')).id, '--wait', '--timeout', '1'])
  expect([late.code, late.stderr]).toEqual([8, expect.stringContaining('timed out')])
  expect((await cli.board(['presession', 'view', '9999'])).code).toBe(3)
})

test('the assistant answers, and its messages can be read', async () => {
  await cli.ok(['projects', 'edit', '--agent', 'notes'])
  expect(await cli.json(['assistant', 'status'])).toMatchObject({ status: 'idle' })
  const answer = await cli.ok(['assistant', 'send', 'What is on the board?', '--wait'], {
    env: { BOARD_FORCE_TTY: '100', NO_COLOR: '1' },
  })
  expect(answer).toContain('Noted. You said 1 things')
  expect(await cli.json(['assistant', 'status'])).toMatchObject({ status: 'completed', agent: 'notes' })
  expect((await cli.json<Array<{ role: string }>>(['assistant', 'messages'])).map(({ role }) => role)).toEqual(
    expect.arrayContaining(['user', 'agent']),
  )
  await cli.ok(['projects', 'edit', '--agent', 'none'])
})

test('agents can be set on projects, columns and cards, and an unknown one is not found', async () => {
  await cli.ok(['projects', 'edit', '--agent', 'good'])
  await cli.ok(['projects', 'worktree', '--copy', '.env', '--copy', '*.local'])
  await cli.ok(['columns', 'edit', 'In Progress', '--agent', 'asking'])
  const id = (await cli.ok(['cards', 'add', 'Named', '--agent', 'good', '-q'])).trim()
  expect(await board.client.projects.get({ id: board.projectId })).toMatchObject({
    agent: 'good',
    worktree: { copiedFiles: ['.env', '*.local'] },
  })
  expect((await board.client.columns.list({ projectId: board.projectId }))[1]).toMatchObject({ agent: 'asking' })
  expect(await board.client.cards.getFlat({ id })).toMatchObject({ agent: 'good' })
  await cli.ok(['cards', 'edit', id, '--agent', 'none'])
  expect(await board.client.cards.getFlat({ id })).toMatchObject({ agent: null })
  await cli.ok(['columns', 'edit', 'In Progress', '--agent', 'none'])
  await cli.ok(['projects', 'edit', '--agent', 'none'])
  await cli.ok(['projects', 'worktree', '--copy', 'none'])
  expect(await board.client.projects.get({ id: board.projectId })).toMatchObject({
    agent: null,
    worktree: { copiedFiles: [] },
  })
  expect((await cli.board(['cards', 'edit', id, '--agent', 'nobody'])).code).toBe(3)
})

test('agent names are completed', async () => {
  expect(await cli.ok(['__complete', '--', 'cards', 'edit', '1', '--agent', 'go'])).toBe('goose\tGoose\ngood\tgood\n')
  expect(await cli.ok(['__complete', '--', 'cards', 'wait', '1', '--for', 'c'])).toBe('completed\ncancelled\n')
})

test('the settings of the context relay are shown and changed', async () => {
  expect(await cli.board(['settings', 'set', 'context-relay', '-f', 'thresholdPercent=70'])).toMatchObject({
    code: 0,
    stderr: 'Set thresholdPercent to 70.\n',
  })
  expect(await cli.json(['settings', 'get', 'context-relay'])).toMatchObject({ enabled: true, thresholdPercent: 70 })
  expect((await cli.board(['settings', 'set', 'context-relay', '-f', 'thresholdPercent=100'])).code).toBe(2)
})

test('files are sent to the card and, with a message, to its agent, and a missing file cancels the message', async () => {
  const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'Look', agent: 'notes' })
  const file = join(cli.home, 'shot.txt')
  writeFileSync(file, 'A picture.')
  expect((await cli.board(['agents', 'send', id, 'Look.', '--attach', file, `${file}.gone`])).code).not.toBe(0)
  expect(await board.messages(id)).toEqual([])
  expect((await cli.board(['agents', 'send', id, 'x'.repeat(300_000), '--attach', file])).code).not.toBe(0)
  expect(await cli.json(['cards', 'attachments', id])).toEqual([])
  await cli.ok(['agents', 'send', id, 'Look.', '--attach', file])
  const [{ id: attachment }] = await cli.json<[{ id: string }]>(['cards', 'attachments', id])
  const messages = await cli.json<Array<{ content: string; attachments: unknown }>>(['agents', 'messages', id])
  expect(messages.find(({ content }) => content === 'Look.')!.attachments).toEqual([
    { id: attachment, filename: 'shot.txt' },
  ])
  await board.untilStatus(id, 'completed')
})
