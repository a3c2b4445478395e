import { afterEach, expect, test } from 'vitest'
import type { Permission } from '../../src/contract/route.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
afterEach(() => board.close())

type NewCard = Partial<Parameters<AgentBoard['client']['cards']['create']>[0]>
const start = async (fixtures: Record<string, { fixture: string }>) => (board = await startFolderBoard(fixtures))
const add = (title: string, card: NewCard = {}) =>
  board.client.cards.create({
    projectId: board.projectId,
    title,
    columnId: board.columns.backlog,
    agent: 'forever',
    deferred: true,
    ...card,
  })
const at = (cardId: string) => ({ projectId: board.projectId, cardId })
const moveTo = (cardId: string, column: keyof AgentBoard['columns'], more: object = {}) =>
  board.client.cards.move({ ...at(cardId), columnId: board.columns[column], ...more })
const limit = (column: keyof AgentBoard['columns'], change: { wipLimit?: number | null; pull?: boolean }) =>
  board.client.columns.update({ projectId: board.projectId, columnId: board.columns[column], ...change })
const titles = async (column: keyof AgentBoard['columns']) =>
  (await board.client.cards.list({ projectId: board.projectId, columnId: board.columns[column], offset: 0 })).map(
    ({ title }) => title,
  )
const until = (column: keyof AgentBoard['columns'], expected: string[]) =>
  eventually(`${expected.join()} in ${column}`, async () => {
    const found = await titles(column)
    return found.join() === expected.join()
  })
const runs = async (cardId: string) => (await board.client.agents.history(at(cardId))).length

test('a column that pulls takes the next ready card of the previous column, in order, when there is capacity', async () => {
  await start({ forever: { fixture: 'forever' } })
  const [a, b, c, d, e, f] = [
    await add('a'),
    await add('b'),
    await add('c'),
    await add('d'),
    await add('e'),
    await add('f'),
  ]
  await board.client.cards.update({ ...at(a.id), blockedBy: [f.id] })
  await board.client.cards.move({ ...at(c.id), columnId: board.columns.backlog, position: 1 })
  await limit('active', { wipLimit: 1, pull: true })
  await until('active', ['c'])
  expect(await board.untilStatus(c.id, 'running')).toMatchObject({ deferred: false, columnType: 'active' })
  await limit('active', { wipLimit: 2 })
  await until('active', ['c', 'b'])
  await board.client.cards.complete(at(c.id))
  await until('active', ['b', 'd'])
  await board.client.cards.archive(at(b.id))
  await until('active', ['d', 'e'])
  await board.client.cards.delete(at(d.id))
  await until('active', ['e', 'f'])
  await board.client.cards.complete(at(f.id))
  await until('active', ['e', 'a'])
  expect(await board.client.agents.active({ projectId: board.projectId })).toHaveLength(2)
  await moveTo(e.id, 'backlog')
  expect(await titles('backlog')).toEqual(['e'])
  await add('g')
  await until('active', ['a', 'g'])
  expect(await Promise.all([a, b, c, d, e, f].filter(({ id }) => id !== d.id).map(({ id }) => runs(id)))).toEqual(
    Array(5).fill(1),
  )
  const events = board.socket.messages.filter(({ type, data }) => type === 'card.moved' && data.id === c.id)
  expect(events.map(({ data }) => data.to.columnId)).toContain(board.columns.active)
})

test('from an active column it takes completed cards that do not wait for approval', async () => {
  await start({ well: { fixture: 'well-behaved' }, fails: { fixture: 'crash' }, forever: { fixture: 'forever' } })
  const { client, projectId } = board
  const { boardId } = (await client.columns.list({ projectId }))[0]!
  const review = await client.columns.create({ projectId, boardId, name: 'Review', columnType: 'active' })
  const ids = [board.columns.backlog, board.columns.active, review.id, board.columns.done]
  await client.columns.reorder({ projectId, ids })
  const active = board.columns.active
  const [failing, running, good] = [
    await add('failing', { agent: 'fails', columnId: active, deferred: false }),
    await add('running', { columnId: active, deferred: false }),
    await add('good', { agent: 'well', columnId: active, deferred: false }),
  ]
  const manual = await add('manual', { agent: 'well' })
  await client.cards.setPipeline({
    ...at(manual.id),
    steps: [{ columnId: active, approval: 'manual' }, { columnId: review.id }],
  })
  await moveTo(manual.id, 'active')
  for (const { id } of [good, manual]) await board.untilStatus(id, 'completed')
  await board.untilStatus(failing.id, 'failed')
  await client.columns.update({ projectId, columnId: review.id, wipLimit: 2, pull: true })
  await board.until(good.id, 'pulled and started', card => card.columnId === review.id && card.status === 'completed')
  expect(await runs(good.id)).toBe(2)
  expect(await titles('active')).toEqual(['failing', 'running', 'manual'])
  await client.agents.approveAuto(at(manual.id))
  await board.until(manual.id, 'moved on', card => card.columnId === review.id && card.status === 'completed')
  expect(await titles('active')).toEqual(['failing', 'running'])
  await client.agents.cancel(at(running.id))
})

test('a step in auto mode waits in line for a full column, and continues when there is capacity', async () => {
  await start({ well: { fixture: 'well-behaved' }, forever: { fixture: 'forever' } })
  await limit('done', { wipLimit: 1 })
  const [first, second, third] = [
    await board.start('well', { autoMode: true, title: '1' }),
    await board.start('well', { autoMode: true, title: '2' }),
    await board.start('well', { autoMode: true, title: '3' }),
  ]
  for (const { id } of [first, second, third]) await board.untilStatus(id, 'completed')
  await eventually('one done', async () => (await titles('done')).length === 1)
  const [done] = await board.client.cards.list({ projectId: board.projectId, columnId: board.columns.done })
  const waiting = [first, second, third].filter(({ id }) => id !== done!.id)
  for (const { id } of waiting)
    await board.until(id, 'the wait for capacity', card =>
      Boolean(
        card.lastAgentAction?.detail?.startsWith('Waiting for capacity in the column Done, which accepts one card'),
      ),
    )
  await moveTo(waiting[1]!.id, 'active', { position: 0 })
  await board.client.cards.archive(at(done!.id))
  await until('done', [waiting[1]!.title])
  expect(await titles('active')).toEqual([waiting[0]!.title])
  await limit('done', { wipLimit: null })
  await until('done', [waiting[1]!.title, waiting[0]!.title])
  for (const { id } of waiting) expect(await runs(id)).toBe(1)
})

test('a card that becomes ready in auto mode waits for capacity in its first step, unless auto mode is switched off', async () => {
  await start({ well: { fixture: 'well-behaved' }, forever: { fixture: 'forever' } })
  const busy = await board.start('forever')
  await limit('active', { wipLimit: 1 })
  const blocker = await add('blocker')
  const [stays, goes] = [
    await add('stays', { agent: 'well', autoMode: true, blockedBy: [blocker.id] }),
    await add('goes', { agent: 'well', autoMode: true, blockedBy: [blocker.id] }),
  ]
  await board.client.cards.complete(at(blocker.id))
  for (const { id } of [stays, goes])
    expect((await board.card(id)).lastAgentAction?.detail).toContain('Waiting for capacity in the column In Progress')
  await board.client.cards.setAutoMode({ ...at(stays.id), enabled: false })
  await board.client.cards.complete(at(busy.id))
  await board.until(
    goes.id,
    'its automatic completion',
    card => card.columnType === 'done' && card.status === 'completed',
  )
  expect(await board.card(stays.id)).toMatchObject({ columnType: 'backlog', status: 'idle' })
})

test('a card that a user without the right to start agents created, moved or edited is pulled once it is activated', async () => {
  await start({ forever: { fixture: 'forever' } })
  const { client, projectId } = board
  const keyed = async (...permissions: Permission[]) =>
    board.as((await client.keys.create({ name: 'k', scope: 'project', projectId, permissions })).key)
  const keyId = await client.keys.create({ name: 'k', scope: 'project', projectId, permissions: ['cards.create'] })
  const made = (
    await board.request('POST', `/api/external/projects/${projectId}/cards`, {
      token: keyId.key,
      body: { title: 'by a key' },
    })
  ).body.data as { id: number }
  const moved = await add('moved', { columnId: board.columns.done })
  await (await keyed('cards.move')).cards.move({ ...at(moved.id), columnId: board.columns.backlog })
  const blocked = await add('rewritten', { blockedBy: [moved.id] })
  await (await keyed('cards.update')).cards.update({ ...at(blocked.id), prompt: 'Something else.' })
  await limit('active', { wipLimit: 9, pull: true })
  const other = await add('other', { blockedBy: [moved.id] })
  await expect(
    (await keyed('cards.update')).cards.update({ ...at(other.id), prompt: 'Something else.' }),
  ).rejects.toMatchObject({ code: 'INSUFFICIENT_PERMISSIONS' })
  await client.cards.delete(at(other.id))
  await client.cards.update({ ...at(blocked.id), blockedBy: [] })
  const restored = await add('restored', { blockedBy: [moved.id] })
  await client.cards.delete(at(restored.id))
  await (await keyed('cards.delete')).cards.restore(at(restored.id))
  await client.cards.update({ ...at(restored.id), blockedBy: [] })
  const own = await add('own')
  await board.untilStatus(own.id, 'running')
  expect(await titles('backlog')).toEqual(['by a key', 'moved', 'rewritten', 'restored'])
  for (const cardId of [String(made.id), moved.id, blocked.id, restored.id]) await client.cards.activate(at(cardId))
  await eventually('an empty backlog', async () => (await titles('backlog')).length === 0)
  for (const { id } of await client.cards.list({ projectId, columnId: board.columns.active }))
    expect(await runs(id)).toBeLessThanOrEqual(1)
})
