import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventData } from '../../src/contract/server/events.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { openSocket, type LiveSocket } from '../support/receivers/liveSocket.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const hourMs = 3_600_000
const start = Date.parse('2026-11-23T08:30:00.000Z')
let nowMs = start
let board: TestBoard
let projectId: string
let [owner, member, watcher, mute]: Array<{ id: string; client: TestBoard['client']; socket: LiveSocket }> = []

const timeAt = (hours: number) => new Date(start + hours * hourMs).toISOString()
const goTo = async (hours: number) => {
  nowMs = start + hours * hourMs
  await board.server.app.timer.reconcile()
}
const told = ({ socket }: { socket: LiveSocket }): Array<EventData<'notification'>> =>
  socket.messages
    .filter(({ type, data }) => type === 'notification' && data.kind !== 'assigned')
    .map(({ data }) => data)
const messages = (person: { socket: LiveSocket }, cardId: string | null) =>
  told(person).flatMap(each => (each.cardId === cardId ? [each.message] : []))
const person = async (email: string) => {
  const { token, user } = await registerConfirmed(board, { email, password: 'a long password' })
  await board.client.members.add({ id: projectId, email, role: 'member' })
  return { id: user.id, client: board.as(token), socket: await openSocket(board.url, token) }
}
const at = (cardId: string) => ({ projectId, cardId })
/** The notification of another card proves that no earlier one is pending. */
const settled = async () => {
  const { id } = await board.client.cards.create({ projectId, title: 'last', assigneeIds: [watcher!.id] })
  await board.client.cards.update({ ...at(id), dueAt: new Date(nowMs - 1000).toISOString() })
  await eventually('word of the last card', () => messages(watcher!, id).length === 1)
}

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(nowMs) })
  const { token, user } = await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  owner = { id: user.id, client: board.as(token), socket: await openSocket(board.url, token) }
  projectId = (await owner.client.projects.create({ name: 'p', path: board.folder('p') })).id
  member = await person('member@example.org')
  watcher = await person('watcher@example.org')
  mute = await person('mute@example.org')
})
afterAll(async () => {
  for (const each of [owner, member, watcher, mute]) each?.socket.close()
  await board.close()
})

test('assignees and watchers are reminded once shortly before the due date, and once after it', async () => {
  const { id } = await member!.client.cards.create({
    projectId,
    title: 'due',
    assigneeIds: [watcher!.id, mute!.id],
    dueAt: timeAt(30),
  })
  await mute!.client.cards.update({ ...at(id), watching: false })
  await goTo(5.9)
  await goTo(6)
  await goTo(7)
  await eventually('the first word', () => messages(watcher!, id).length === 1)
  await goTo(30)
  await goTo(31)
  await settled()
  const expected = ['The card is due at 2026-11-24 14:30 UTC.', 'The card was due at 2026-11-24 14:30 UTC.']
  expect(messages(watcher!, id)).toEqual(expected)
  expect(messages(member!, id)).toEqual(expected)
  expect([messages(owner!, id), messages(mute!, id)]).toEqual([[], []])
  expect(told(watcher!).find(each => each.cardId === id)).toMatchObject({ kind: 'due', cardTitle: 'due' })
})

test('a new due date reminds again; done, archived and deleted cards remind no user; a user without the setting gets none', async () => {
  await goTo(100)
  const [moved, done, gone] = await Promise.all(
    ['moved', 'done', 'gone'].map(title =>
      board.client.cards.create({ projectId, title, assigneeIds: [watcher!.id], dueAt: timeAt(110) }),
    ),
  )
  await goTo(101)
  await eventually('word of each', () => [moved, done, gone].every(card => messages(watcher!, card!.id).length === 1))
  await board.client.cards.update({ ...at(moved!.id), dueAt: timeAt(200) })
  await board.client.cards.complete(at(done!.id))
  await board.client.cards.delete(at(gone!.id))
  await goTo(111)
  await goTo(177)
  await watcher!.client.notifications.set({ due: false })
  await goTo(201)
  await watcher!.client.notifications.set({ due: true })
  await settled()
  expect([moved, done, gone].map(card => messages(watcher!, card!.id).length)).toEqual([2, 1, 1])
})

test('a card that is over a day overdue causes no reminder, and after downtime the two reminders are sent as one', async () => {
  await goTo(300)
  const add = (title: string, dueAt: string) =>
    board.client.cards.create({ projectId, title, assigneeIds: [watcher!.id], dueAt })
  const [old, missed] = [await add('old', timeAt(275)), await add('missed', timeAt(330))]
  await goTo(331)
  await settled()
  expect([messages(watcher!, old.id), messages(watcher!, missed.id)]).toEqual([
    [],
    ['The card was due at 2026-12-07 02:30 UTC.'],
  ])
})

test('a disabled schedule notifies the members who work on the project', async () => {
  const { id } = await member!.client.schedules.create({
    projectId,
    name: 'Nightly',
    everySecs: 3600,
    template: { title: 'x' },
  })
  await board.client.members.update({ projectId, userId: member!.id, role: 'viewer' })
  await goTo((nowMs - start) / hourMs + 1)
  await settled()
  const news = told(owner!).filter(({ kind }) => kind === 'scheduleDisabled')
  expect(news).toEqual([
    expect.objectContaining({
      cardId: null,
      cardTitle: 'Nightly',
      message: expect.stringContaining('no longer creates cards'),
    }),
  ])
  expect(told(member!).filter(({ kind }) => kind === 'scheduleDisabled')).toEqual([])
  expect((await board.client.schedules.list({ projectId })).find(each => each.id === id)!.enabled).toBe(false)
})
