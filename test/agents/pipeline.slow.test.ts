import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
let columns: { plan: string; build: string; review: string; done: string }
const echo = { FIXTURE_ECHO: '1', FIXTURE_FILE: 'told.txt' }
beforeAll(async () => {
  board = await startAgentBoard({
    well: { fixture: 'well-behaved', env: echo },
    limited: { fixture: 'usage-limited' },
    forever: { fixture: 'forever' },
  })
  const { projectId } = board
  const { id: boardId } = await board.client.boards.create({ projectId, name: 'Steps' })
  for (const column of await board.client.columns.list({ projectId, boardId }))
    await board.client.columns.delete({ projectId, columnId: column.id })
  const create = async (name: string, columnType: 'active' | 'done', prompt = '') =>
    (await board.client.columns.create({ projectId, boardId, name, columnType, prompt })).id
  columns = {
    plan: await create('Plan', 'active', 'Make a plan.'),
    build: await create('Build', 'active', 'Build it.'),
    review: await create('Review', 'active'),
    done: await create('Done', 'done'),
  }
})
afterAll(() => board.close())

const told = (cardId: string) =>
  readFileSync(join(board.dataDir, 'worktrees', board.projectId, cardId, 'told.txt'), 'utf8')

test('with auto mode a card moves through its steps automatically, up to the first done column', async () => {
  const { id } = await board.start('well', {
    title: 'All steps',
    prompt: 'Fix the roof.',
    columnId: columns.plan,
    autoMode: true,
  })
  const card = await board.until(id, 'the end of the pipeline', found => found.columnId === columns.done)
  expect(card).toMatchObject({ status: 'completed', unread: true, hasActiveAgent: false })
  expect(card.sessions).toHaveLength(3)
  const moves = board.socket.messages
    .filter(({ type, data }) => type === 'card.moved' && data.id === id)
    .map(({ data }) => data.to.columnId)
  expect(moves).toEqual([columns.build, columns.review, columns.done])
})

test("the step's prompt, otherwise the column's, comes before the card's prompt", async () => {
  const { id } = await board.start('well', { prompt: 'Fix the roof.', columnId: columns.plan })
  await board.untilStatus(id, 'completed')
  expect(told(id)).toBe('Make a plan.\n\nFix the roof.')
  await board.client.cards.setPipeline({
    projectId: board.projectId,
    cardId: id,
    steps: [{ columnId: columns.plan, prompt: 'Think twice.' }, { columnId: columns.build }],
  })
  await board.client.agents.relaunch({ projectId: board.projectId, cardId: id })
  await board.untilStatus(id, 'running')
  await board.untilStatus(id, 'completed')
  expect(told(id)).toBe('Think twice.\n\nFix the roof.')
})

test('the agent of a step receives the result of the previous step', async () => {
  const { id } = await board.start('well', { prompt: 'Fix the roof.', columnId: columns.plan })
  await board.untilStatus(id, 'completed')
  await board.client.agents.approveAuto({ projectId: board.projectId, cardId: id })
  await board.until(
    id,
    'the end of the next step',
    card => card.columnId === columns.build && card.status === 'completed',
  )
  expect(told(id)).toMatch(/^Build it\.\n\nFix the roof\.\n\n[\s\S]*I wrote told\.txt as asked\.$/)
})

test('without auto mode each approval moves a completed card on by one step', async () => {
  const { id } = await board.start('well', { columnId: columns.plan })
  const approve = () => board.client.agents.approveAuto({ projectId: board.projectId, cardId: id })
  for (const columnId of [columns.build, columns.review]) {
    await board.untilStatus(id, 'completed')
    await approve()
    await board.until(id, "the next step's end", card => card.columnId === columnId && card.status === 'completed')
  }
  await approve()
  expect(await board.card(id)).toMatchObject({ columnId: columns.done, status: 'completed' })
  await expect(approve()).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
})

test('a step that requires an approval waits for it in auto mode', async () => {
  const { id } = await board.start('well', { columnId: columns.plan, autoMode: true, deferred: true })
  await board.client.cards.setPipeline({
    projectId: board.projectId,
    cardId: id,
    steps: [{ columnId: columns.plan }, { columnId: columns.build, approval: 'manual' }, { columnId: columns.review }],
  })
  await board.client.cards.activate({ projectId: board.projectId, cardId: id })
  await board.until(id, 'the step that waits', card => card.columnId === columns.build && card.status === 'completed')
  await board.untilNoneRuns()
  expect(await board.card(id)).toMatchObject({ columnId: columns.build, status: 'completed' })
  await board.client.agents.approveAuto({ projectId: board.projectId, cardId: id })
  await board.until(id, 'the end of the pipeline', card => card.columnId === columns.done)
})

test('a failed or cancelled step never moves on, and cannot be approved', async () => {
  const failed = await board.start('limited', { columnId: columns.plan, autoMode: true })
  expect(await board.untilStatus(failed.id, 'failed')).toMatchObject({ columnId: columns.plan })
  const running = await board.start('forever', { columnId: columns.plan, autoMode: true })
  await board.untilStatus(running.id, 'running')
  await expect(
    board.client.agents.approveAuto({ projectId: board.projectId, cardId: running.id }),
  ).rejects.toMatchObject({ code: 'NOTHING_TO_APPROVE' })
  await board.client.agents.cancel({ projectId: board.projectId, cardId: running.id })
  await board.untilNoneRuns()
  for (const { id } of [failed, running]) {
    await expect(board.client.agents.approveAuto({ projectId: board.projectId, cardId: id })).rejects.toMatchObject({
      code: 'NOTHING_TO_APPROVE',
    })
    expect(await board.card(id)).toMatchObject({ columnId: columns.plan })
  }
})

test('moving a running card to another active column ends its agent and starts the one of that column', async () => {
  const { id } = await board.start('forever', { columnId: columns.plan })
  await board.untilStatus(id, 'running')
  await board.client.cards.move({ projectId: board.projectId, cardId: id, columnId: columns.build })
  const card = await board.until(
    id,
    'the second session',
    found => found.sessions.length === 2 && found.status === 'running',
  )
  expect(card.sessions).toMatchObject([{ status: 'cancelled' }, { status: 'running' }])
  await board.client.cards.complete({ projectId: board.projectId, cardId: id })
  expect(await board.card(id)).toMatchObject({ columnId: columns.done, status: 'completed' })
  await board.untilNoneRuns()
})

test("a card with its worktree disabled works in the project's folder", async () => {
  const { id } = await board.start('well', { useWorktree: false, columnId: columns.plan })
  await board.untilStatus(id, 'completed')
  await eventually("the file in the project's folder", () => existsSync(join(board.path, 'told.txt')))
  expect(existsSync(join(board.dataDir, 'worktrees', board.projectId, id))).toBe(false)
})
