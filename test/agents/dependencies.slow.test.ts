import { afterEach, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

let board: AgentBoard
afterEach(() => board.close())

const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
const add = (title: string, card: Partial<Parameters<AgentBoard['client']['cards']['create']>[0]> = {}) =>
  board.client.cards.create({
    projectId: board.projectId,
    title,
    columnId: board.columns.backlog,
    agent: 'well',
    ...card,
  })
const at = (cardId: string) => ({ projectId: board.projectId, cardId })
const moveTo = (cardId: string, column: keyof AgentBoard['columns'], more: object = {}) =>
  board.client.cards.move({ ...at(cardId), columnId: board.columns[column], ...more })
const never = async (cardId: string) => (await board.client.agents.history(at(cardId))).length

test('a blocked card cannot be started by any user or route, unless it is forced', async () => {
  board = await startFolderBoard({ well: { fixture: 'well-behaved' } })
  const { client } = board
  const { id: blocker } = await add('first')
  const blockedBy = [blocker]
  const why = `The card is blocked by card ${blocker}.`
  const { id } = await add('waits', { blockedBy, columnId: board.columns.active })
  expect(await board.card(id)).toMatchObject({
    blocked: true,
    status: 'idle',
    lastAgentAction: { type: 'not_started', detail: why },
  })
  expect(await code(add('refused', { blockedBy, columnId: board.columns.active, mustStart: true }))).toBe(
    'CARD_BLOCKED',
  )
  expect(await code(client.cards.activate(at(id)))).toBe('CARD_BLOCKED')
  expect(await code(client.agents.relaunch(at(id)))).toBe('CARD_BLOCKED')
  expect(await code(client.agents.retry(at(id)))).toBe('CARD_BLOCKED')
  expect(await code(client.agents.send({ ...at(id), content: 'Go on.' }))).toBe('CARD_BLOCKED')
  const { id: moved } = await add('moved', { blockedBy })
  expect(await code(moveTo(moved, 'active', { mustStart: true }))).toBe('CARD_BLOCKED')
  expect(await moveTo(moved, 'active')).toMatchObject({ status: 'idle', lastAgentAction: { detail: why } })
  expect([await never(id), await never(moved)]).toEqual([0, 0])

  await client.cards.activate({ ...at(id), force: true })
  await board.untilStatus(id, 'completed')
  await client.agents.relaunch({ ...at(moved), force: true })
  await board.untilStatus(moved, 'completed')
  const { id: third } = await add('third', { blockedBy })
  await moveTo(third, 'active', { force: true, mustStart: true })
  await board.untilStatus(third, 'completed')
})

test('in auto mode a card starts automatically when its last blocker is done; otherwise it waits for a user', async () => {
  board = await startFolderBoard({ well: { fixture: 'well-behaved' } })
  const [a, b] = [await add('a'), await add('b')]
  const blockedBy = [a.id, b.id]
  const backlog = await add('from the backlog', { blockedBy, autoMode: true, deferred: true })
  const active = await add('where it stands', { blockedBy, autoMode: true, columnId: board.columns.active })
  const manual = await add('by hand', { blockedBy, columnId: board.columns.active })
  await moveTo(a.id, 'done')
  expect([await never(backlog.id), await never(active.id)]).toEqual([0, 0])
  await board.client.cards.complete(at(b.id))
  for (const { id } of [backlog, active])
    await board.until(id, 'its automatic completion', card => card.columnType === 'done' && card.status === 'completed')
  expect(await board.card(manual.id)).toMatchObject({ status: 'idle', ready: true, columnType: 'active' })
  expect([await never(backlog.id), await never(active.id), await never(manual.id)]).toEqual([1, 1, 0])
})

test('a card that has run does not start again when a blocker is done again, or when it returns', async () => {
  board = await startFolderBoard({ well: { fixture: 'well-behaved' } })
  const a = await add('a')
  const { id } = await add('waiting', { autoMode: true, blockedBy: [a.id] })
  await moveTo(a.id, 'done')
  await board.until(id, 'its automatic completion', card => card.columnType === 'done' && card.status === 'completed')
  await moveTo(id, 'backlog')
  await moveTo(a.id, 'backlog')
  await moveTo(a.id, 'done')
  await board.client.cards.archive(at(id))
  await board.client.cards.unarchive(at(id))
  await board.client.cards.delete(at(id))
  await board.client.cards.restore(at(id))
  expect(await board.card(id)).toMatchObject({ columnType: 'backlog', status: 'completed', ready: true })
  expect(await never(id)).toBe(1)
})

test('a chain of cards in auto mode is completed in order', async () => {
  board = await startFolderBoard({ well: { fixture: 'well-behaved' } })
  const first = await add('1', { autoMode: true })
  const second = await add('2', { autoMode: true, blockedBy: [first.id] })
  const third = await add('3', { autoMode: true, blockedBy: [second.id, first.id] })
  await moveTo(first.id, 'active')
  const ended = await board.until(third.id, 'done', card => card.columnType === 'done')
  const starts = await Promise.all([first, second].map(async ({ id }) => (await board.card(id)).startedAt!))
  expect([...starts, ended.startedAt!]).toEqual([...starts, ended.startedAt!].toSorted())
})

test('removing a blocker starts the card, and a running card continues when a blocker is moved back', async () => {
  board = await startFolderBoard({ well: { fixture: 'well-behaved' } })
  const [a, b] = [await add('a'), await add('b')]
  const waiting = await add('waiting', { autoMode: true, blockedBy: [a.id] })
  await board.client.cards.update({ ...at(waiting.id), blockedBy: [] })
  await board.until(waiting.id, 'its automatic completion', card => card.columnType === 'done')

  const begun = await add('begun', { blockedBy: [b.id] })
  await moveTo(b.id, 'done')
  await moveTo(begun.id, 'active')
  await moveTo(b.id, 'backlog')
  await board.untilStatus(begun.id, 'completed')
  expect(await board.card(begun.id)).toMatchObject({ blocked: true })
  await board.client.agents.send({ ...at(begun.id), content: 'And one thing more.' })
  await board.untilStatus(begun.id, 'completed')
  expect(await code(board.client.agents.relaunch(at(begun.id)))).toBe('CARD_BLOCKED')
})
