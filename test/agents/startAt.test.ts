import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

const hourMs = 3_600_000
const start = Date.parse('2026-11-23T08:30:00.000Z')
let nowMs = start
let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ well: { fixture: 'well-behaved' } }, { clock: () => new Date(nowMs) })
})
afterAll(() => board.close())
beforeEach(async () => {
  await goTo(start)
})

const goTo = async (timeMs: number) => {
  nowMs = timeMs
  await board.server.app.timer.reconcile()
}
const timeAt = (hours: number) => new Date(start + hours * hourMs).toISOString()
const add = (title: string, card: Partial<Parameters<AgentBoard['client']['cards']['create']>[0]> = {}) =>
  board.client.cards.create({
    projectId: board.projectId,
    title,
    columnId: board.columns.backlog,
    agent: 'well',
    ...card,
  })
const at = (cardId: string) => ({ projectId: board.projectId, cardId })
const move = (cardId: string, more: object = {}) =>
  board.client.cards.move({ ...at(cardId), columnId: board.columns.active, ...more })
const runs = async (cardId: string) => (await board.client.agents.history(at(cardId))).length
const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
const isReady = async (id: string) =>
  (await board.client.cards.list({ projectId: board.projectId, ready: true })).some(card => card.id === id)

test('a card with a start time cannot be started earlier, states the reason, and then starts once automatically', async () => {
  const startAt = timeAt(2)
  const { id } = await add('later', { startAt: '2026-11-23T11:30:00.000+01:00' })
  expect(await board.card(id)).toMatchObject({ startAt, ready: false, blocked: false })
  expect(await isReady(id)).toBe(false)
  expect(await move(id)).toMatchObject({
    status: 'idle',
    lastAgentAction: { type: 'not_started', detail: 'The card starts at 2026-11-23 10:30 UTC.' },
  })
  expect(await code(board.client.cards.activate(at(id)))).toBe('CARD_BLOCKED')
  expect(await code(board.client.agents.relaunch(at(id)))).toBe('CARD_BLOCKED')
  expect(await code(add('now', { startAt, columnId: board.columns.active, mustStart: true }))).toBe('CARD_BLOCKED')
  await goTo(start + 2 * hourMs - 1)
  expect(await runs(id)).toBe(0)
  await goTo(start + 2 * hourMs)
  await board.untilStatus(id, 'completed')
  await goTo(start + 3 * hourMs)
  expect(await runs(id)).toBe(1)
})

test('force starts it earlier, and its start time then has no effect', async () => {
  const { id } = await add('forced', { startAt: timeAt(2) })
  await move(id, { force: true })
  await board.untilStatus(id, 'completed')
  await goTo(start + 3 * hourMs)
  expect(await runs(id)).toBe(1)
})

test('in the backlog a start time makes the card ready, and starts it in auto mode only', async () => {
  const [plain, auto] = [
    await add('plain', { startAt: timeAt(2) }),
    await add('auto', { startAt: timeAt(2), autoMode: true }),
  ]
  await goTo(start + 2 * hourMs)
  expect(await board.card(plain.id)).toMatchObject({ ready: true, columnId: board.columns.backlog, status: 'idle' })
  expect(await isReady(plain.id)).toBe(true)
  await board.until(auto.id, 'the end', card => card.columnId === board.columns.done)
  expect(await runs(auto.id)).toBe(1)
})

test('it can be changed and removed; a past time holds nothing back', async () => {
  const { id } = await add('changed', { startAt: timeAt(2), columnId: board.columns.active })
  await board.client.cards.update({ ...at(id), startAt: timeAt(4) })
  await goTo(start + 3 * hourMs)
  expect(await runs(id)).toBe(0)
  expect(await board.client.cards.update({ ...at(id), startAt: null })).toMatchObject({ startAt: null, ready: true })
  await goTo(start + 5 * hourMs)
  expect(await runs(id)).toBe(0)
  const past = await add('past', { startAt: timeAt(1), columnId: board.columns.active })
  await board.untilStatus(past.id, 'completed')
})

test('a card that is blocked at its start time reports it, and starts when its blocker is done', async () => {
  const blocker = await add('first')
  const { id } = await add('second', { startAt: timeAt(2), blockedBy: [blocker.id], columnId: board.columns.active })
  await goTo(start + 2 * hourMs)
  expect(await board.card(id)).toMatchObject({
    blocked: true,
    ready: false,
    lastAgentAction: { detail: `The card is blocked by card ${blocker.id}.` },
  })
  await board.client.cards.complete(at(blocker.id))
  await board.untilStatus(id, 'completed')
  expect(await runs(id)).toBe(1)
})

test('a card that is done, archived or in the trash at its time does not start, and the latter start when they are restored', async () => {
  const ids = await Promise.all(
    ['done', 'archived', 'trashed'].map(
      async title => (await add(title, { startAt: timeAt(2), columnId: board.columns.active })).id,
    ),
  )
  await board.client.cards.complete(at(ids[0]!))
  await board.client.cards.archive(at(ids[1]!))
  await board.client.cards.delete(at(ids[2]!))
  await goTo(start + 2 * hourMs)
  for (const id of ids.slice(0, 2)) expect(await runs(id)).toBe(0)
  await board.client.cards.unarchive(at(ids[1]!))
  await board.client.cards.restore(at(ids[2]!))
  for (const id of ids.slice(1)) await board.untilStatus(id, 'completed')
  expect(await Promise.all(ids.map(runs))).toEqual([0, 1, 1])
})

test('it starts with the current rights of the user who set the time', async () => {
  await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' })
  const { token, user } = await registerConfirmed(board, { email: 'bob@example.org', password: 'a long password' })
  await board.client.members.add({ id: board.projectId, email: user.email, role: 'member' })
  const set = async (client: AgentBoard['client'], title: string) => {
    const { id } = await add(title, { columnId: board.columns.active, deferred: true })
    await client.cards.update({ ...at(id), startAt: timeAt(2) })
    return id
  }
  const permissions = (more: 'agents.run'[]) => ['cards.read' as const, 'cards.update' as const, ...more]
  const key = async (more: 'agents.run'[]) =>
    board.as(
      (await board.client.keys.create({ name: 'k', scope: 'server', permissions: permissions(more), expiresInDays: 9 }))
        .key,
    )
  const [byMember, byKey, byWeakKey] = [
    await set(board.as(token), 'member'),
    await set(await key(['agents.run']), 'key'),
    await set(await key([]), 'weak key'),
  ]
  await board.client.members.update({ projectId: board.projectId, userId: user.id, role: 'viewer' })
  await goTo(start + 2 * hourMs)
  await board.untilStatus(byKey, 'completed')
  expect((await board.card(byMember)).lastAgentAction!.detail).toContain('can no longer work in this project')
  expect((await board.card(byWeakKey)).lastAgentAction!.detail).toContain('agents.run')
  expect([await runs(byMember), await runs(byWeakKey)]).toEqual([0, 0])
})
