import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard({ resumable: { fixture: 'resumable' } })
  await board.client.projects.update({ id: board.projectId, agent: 'resumable' })
})
afterAll(() => board.close())

test('the assistant starts with its first message, keeps its conversation, and is in no list', async () => {
  const { projectId } = board
  expect(await board.client.assistant.get({ projectId })).toMatchObject({
    sessionId: null,
    cardId: null,
    status: 'idle',
  })
  const { db } = board.server.app
  expect(await db.all("SELECT id FROM cards WHERE kind = 'assistant'")).toEqual([])
  expect(await board.client.assistant.send({ projectId, content: 'Who are you?' })).toMatchObject({
    role: 'user',
    content: 'Who are you?',
  })
  const cardId = await eventually('the first answer', async () => {
    const session = await board.client.assistant.get({ projectId })
    return session.status === 'completed' ? session.cardId! : undefined
  })
  await board.client.assistant.send({ projectId, content: 'And I?' })
  const answers = () =>
    board
      .messages(cardId)
      .then(messages => messages.filter(({ role }) => role === 'agent').map(({ content }) => content))
  await eventually('the second answer', async () => (await answers()).length === 2)
  expect((await answers())[1]).toContain('You said 2 things')
  expect(await board.client.cards.list({ projectId })).toEqual([])
  expect((await board.client.projects.stats({ id: projectId })).total).toBe(0)
  await board.untilNoneRuns()
})

test('a terminal card runs its shell command in its folder, and is completed or failed by its exit code', async () => {
  const create = (command: string) =>
    board.client.cards.create({
      projectId: board.projectId,
      title: 'Shell',
      kind: 'terminal',
      command,
      columnId: board.columns.active,
    })
  const good = await create('echo "in $(basename "$PWD")"; echo careful >&2; touch made')
  expect(good).toMatchObject({ kind: 'terminal', command: expect.stringContaining('touch made'), position: null })
  await board.untilStatus(good.id, 'completed')
  expect(
    (await board.messages(good.id))
      .filter(({ role }) => role === 'agent')
      .map(({ content }) => content)
      .join(''),
  ).toContain(`in ${good.id}\n`)
  expect(existsSync(join(board.dataDir, 'worktrees', board.projectId, good.id, 'made'))).toBe(true)
  const bad = await create('exit 3')
  expect(await board.untilStatus(bad.id, 'failed')).toMatchObject({ statusReason: 'crashed' })
  const endless = await create('sleep 1000')
  await board.untilStatus(endless.id, 'running')
  await board.client.agents.cancel({ projectId: board.projectId, cardId: endless.id })
  expect(await board.card(endless.id)).toMatchObject({ status: 'cancelled' })
  await expect(
    board.client.agents.send({ projectId: board.projectId, cardId: good.id, content: 'Hello' }),
  ).rejects.toMatchObject({ code: 'CONFLICT' })
  expect((await board.client.cards.list({ projectId: board.projectId, kind: 'terminal' })).map(({ id }) => id)).toEqual(
    [good.id, bad.id, endless.id],
  )
  expect(await board.client.cards.list({ projectId: board.projectId })).toEqual([])
  await eventually('the end of the command', () => board.processes().length === 0)
})

test('a command is valid for terminal cards only, and required there', async () => {
  for (const input of [{ kind: 'terminal' as const }, { command: 'ls' }])
    await expect(
      board.client.cards.create({ projectId: board.projectId, title: 'Shell', ...input }),
    ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
})
