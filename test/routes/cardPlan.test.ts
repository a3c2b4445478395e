import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

interface Person {
  id: string
  client: Client
  token: string
}
let board: TestBoard
let projectId: string
let ada: Person
let bob: Person
let eve: Person
beforeAll(async () => {
  board = await startBoard()
  const { token, user } = await board.client.auth.setup({
    email: 'ada@example.org',
    password: 'correct horse',
    displayName: 'Ada',
  })
  ada = { id: user.id, client: board.as(token), token }
  bob = await person('Bob')
  eve = await person('Eve')
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await ada.client.projects.create({ name: 'p', path: board.folder('p') })).id
  await ada.client.members.add({ id: projectId, email: 'bob@example.org' })
})

async function person(displayName: string): Promise<Person> {
  const email = `${displayName.toLowerCase()}@example.org`
  const { token, user } = await registerConfirmed(board, { email, password: 'a long password', displayName })
  return { id: user.id, client: board.as(token), token }
}
type NewCard = Partial<Parameters<Client['cards']['create']>[0]>
const add = (title: string, card: NewCard = {}, by = ada) =>
  by.client.cards.create({ projectId, title, deferred: true, ...card })
const read = (cardId: string, by = ada) => by.client.cards.get({ projectId, cardId })
const update = (
  cardId: string,
  change: Omit<Parameters<Client['cards']['update']>[0], 'projectId' | 'cardId'>,
  by = ada,
) => by.client.cards.update({ projectId, cardId, ...change })
const titles = async (filter: Omit<Parameters<Client['cards']['list']>[0], 'projectId'>) =>
  (await ada.client.cards.list({ projectId, ...filter })).map(({ title }) => title)
const problem = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string; details?: unknown }) => error.details ?? error.code,
  )

describe('the plan of a card', () => {
  test("is returned with the values that were set, in the card's detail and in lists", async () => {
    const plan = { priority: 'urgent', dueAt: '2030-01-31T12:00:00.000Z', estimate: 2.25 } as const
    const { id } = await add('one', { ...plan, assigneeIds: [bob.id, ada.id] })
    const assignees = [
      { userId: bob.id, displayName: 'Bob' },
      { userId: ada.id, displayName: 'Ada' },
    ]
    expect(await read(id)).toMatchObject({ ...plan, assignees })
    expect(await ada.client.cards.list({ projectId })).toMatchObject([{ ...plan, assignees }])
    expect(await update(id, { priority: 'low', dueAt: null, estimate: null, assigneeIds: [] })).toMatchObject({
      priority: 'low',
      dueAt: null,
      estimate: null,
      assignees: [],
    })
  })

  test('is empty by default, and a date is stored in UTC', async () => {
    const { id } = await add('one')
    expect(await read(id)).toMatchObject({ priority: 'normal', dueAt: null, estimate: null, assignees: [] })
    expect((await update(id, { dueAt: '2030-01-31T12:00:00+02:00' })).dueAt).toBe('2030-01-31T10:00:00.000Z')
  })

  test.each([
    [{ priority: 'high!' as 'high' }, 'priority', 'must be urgent, high, normal or low'],
    [{ dueAt: 'tomorrow' }, 'dueAt', undefined],
    [{ dueAt: '2030-02-31T25:00:00Z' }, 'dueAt', undefined],
    [{ dueAt: '2030-02-30T12:00:00Z' }, 'dueAt', 'must be a time on a day that exists'],
    [{ startAt: '2030-04-31T12:00:00Z' }, 'startAt', 'must be a time on a day that exists'],
    [{ estimate: -1 }, 'estimate', 'must be at least 0'],
    [{ estimate: 0.125 }, 'estimate', 'must have at most 2 decimals'],
    [{ estimate: 1e7 }, 'estimate', 'must be at most 1000000'],
    [{ assigneeIds: ['1', '1'] }, 'assigneeIds', 'must contain each user once'],
    [
      { assigneeIds: Array.from({ length: 21 }, (_, at) => String(at + 1)) },
      'assigneeIds',
      'must have at most 20 users',
    ],
    [{ assigneeIds: ['999'] }, 'assigneeIds.0', 'must be a member of the project, which 999 is not'],
  ])('is rejected if it is invalid: %j', async (wrong, path, message) => {
    const { id } = await add('one')
    const expected = [message === undefined ? expect.objectContaining({ path }) : { path, message }]
    expect(await problem(update(id, wrong))).toEqual(expected)
    expect(await problem(add('two', wrong))).toEqual(expected)
  })
})

describe('assignees', () => {
  test('must belong to the project: its owner, its members and those of its organization', async () => {
    expect(await ada.client.members.people({ projectId })).toEqual([
      { userId: ada.id, displayName: 'Ada' },
      { userId: bob.id, displayName: 'Bob' },
    ])
    const { id } = await add('one')
    expect(await problem(update(id, { assigneeIds: [eve.id] }))).toEqual([
      { path: 'assigneeIds.0', message: `must be a member of the project, which ${eve.id} is not` },
    ])
    const organizationId = (await ada.client.organizations.create({ name: 'o' })).id
    await ada.client.organizations.addMember({ id: organizationId, email: 'eve@example.org', role: 'member' })
    await ada.client.projects.update({ id: projectId, organizationId })
    expect((await update(id, { assigneeIds: [eve.id] })).assignees).toEqual([{ userId: eve.id, displayName: 'Eve' }])
  })

  test('show their current name, stay when they leave the project, and remain as a name when the account is deleted', async () => {
    const gil = await person('Gil')
    await ada.client.members.add({ id: projectId, email: 'gil@example.org' })
    const { id } = await add('one', { assigneeIds: [gil.id, bob.id] })
    await ada.client.users.update({ id: gil.id, name: 'Gilda' })
    const assignees = [
      { userId: gil.id, displayName: 'Gilda' },
      { userId: bob.id, displayName: 'Bob' },
    ]
    expect((await read(id)).assignees).toEqual(assignees)
    await ada.client.members.remove({ projectId, userId: gil.id })
    expect((await update(id, { assigneeIds: [gil.id, bob.id] })).assignees).toEqual(assignees)
    expect(await titles({ assigneeId: Number(gil.id) })).toEqual(['one'])
    await ada.client.users.delete({ id: gil.id })
    expect((await read(id)).assignees).toEqual([{ name: 'Gilda' }, { userId: bob.id, displayName: 'Bob' }])
    expect(await titles({ assigneeId: Number(gil.id) })).toEqual([])
    expect(await titles({ assigneeId: Number(bob.id) })).toEqual(['one'])
  })

  test('have an account or are a name, each set separately', async () => {
    const { id } = await add('one', { assigneeIds: [bob.id], assigneeNames: ['Zoe', 'Yan'] })
    const bobs = { userId: bob.id, displayName: 'Bob' }
    expect((await read(id)).assignees).toEqual([bobs, { name: 'Zoe' }, { name: 'Yan' }])
    expect((await update(id, { assigneeIds: [] })).assignees).toEqual([{ name: 'Zoe' }, { name: 'Yan' }])
    expect((await update(id, { assigneeIds: [bob.id], assigneeNames: ['Yan'] })).assignees).toEqual([
      bobs,
      { name: 'Yan' },
    ])
    const names = Array.from({ length: 20 }, (_, at) => `n${at}`)
    expect(await problem(update(id, { assigneeNames: names }))).toEqual([
      { path: 'assigneeNames', message: 'must not result in more than 20 assignees' },
    ])
  })

  test('are reported in one event, with the user who assigned them', async () => {
    const { id } = await add('one')
    const live = await follow(board.url, ada.token, projectId)
    await update(id, { assigneeIds: [bob.id] })
    await update(id, { assigneeIds: [bob.id, ada.id], title: 'two' }, bob)
    await update(id, { assigneeIds: [ada.id] })
    await eventually('the changes', () => live.messages.filter(({ type }) => type === 'card.updated').length === 3)
    expect(live.messages.filter(({ type }) => type === 'card.assigned').map(({ data }) => data)).toMatchObject([
      { id, assignedIds: [bob.id], by: { userId: ada.id, name: 'Ada' }, assignees: [{ userId: bob.id }] },
      { id, assignedIds: [ada.id], by: { userId: bob.id, name: 'Bob' }, title: 'two' },
    ])
    live.close()
  })
})

describe('watching', () => {
  test('starts with creating a card and with being assigned to it, until the user disables it', async () => {
    const { id } = await add('one', { assigneeIds: [bob.id] })
    expect(await read(id)).toMatchObject({ watching: true, watcherIds: [ada.id, bob.id] })
    expect(await read(id, bob)).toMatchObject({ watching: true })
    expect(await update(id, { watching: false })).toMatchObject({ watching: false, watcherIds: [bob.id] })
    await update(id, { assigneeIds: [] })
    expect(await read(id, bob)).toMatchObject({ watching: false, watcherIds: [] })
    expect(await update(id, { watching: true }, bob)).toMatchObject({ watching: true, watcherIds: [bob.id] })
    await update(id, { watching: false }, bob)
    expect(await update(id, { assigneeIds: [bob.id] })).toMatchObject({ watching: false, watcherIds: [bob.id] })
  })

  test("does not change the card's version", async () => {
    const before = await add('one')
    expect((await update(before.id, { watching: false })).version).toBe(before.version)
  })
})

describe('lists', () => {
  const plans: Record<string, NewCard> = {
    late: { priority: 'low', dueAt: '2030-03-01T00:00:00.000Z' },
    plain: {},
    soon: { priority: 'urgent', dueAt: '2030-01-01T00:00:00.000Z' },
    high: { priority: 'high' },
    later: { priority: 'urgent', dueAt: '2030-02-01T00:00:00.000Z' },
  }
  beforeEach(async () => {
    for (const [title, plan] of Object.entries(plans))
      await add(title, { ...plan, assigneeIds: title === 'soon' ? [ada.id, bob.id] : title === 'high' ? [bob.id] : [] })
  })

  test('are filtered by assignee, priority and due date', async () => {
    expect(await titles({ assigneeId: Number(bob.id) })).toEqual(['soon', 'high'])
    expect(await titles({ assigneeId: Number(ada.id) })).toEqual(['soon'])
    expect(await titles({ assigneeId: 'none' })).toEqual(['late', 'plain', 'later'])
    expect(await titles({ priority: 'urgent' })).toEqual(['soon', 'later'])
    expect(await titles({ dueBefore: '2030-02-01T00:00:00.000Z' })).toEqual(['soon'])
    expect(await titles({ dueBefore: '2031-01-01T00:00:00.000Z', priority: 'low' })).toEqual(['late'])
    expect(await problem(titles({ assigneeId: 'bob' as 'none' }))).toMatchObject([{ path: 'assigneeId' }])
  })

  test.each([
    ['id', ['late', 'plain', 'soon', 'high', 'later']],
    ['-id', ['later', 'high', 'soon', 'plain', 'late']],
    ['position', ['late', 'plain', 'soon', 'high', 'later']],
    ['-position', ['later', 'high', 'soon', 'plain', 'late']],
    ['priority', ['late', 'plain', 'high', 'soon', 'later']],
    ['-priority', ['soon', 'later', 'high', 'plain', 'late']],
    ['dueAt', ['soon', 'later', 'late', 'plain', 'high']],
    ['-dueAt', ['late', 'later', 'soon', 'plain', 'high']],
    ['updatedAt', ['late', 'plain', 'soon', 'high', 'later']],
  ] as const)('are sorted by %s, page by page', async (sort, expected) => {
    expect(await titles({ sort })).toEqual(expected)
    const pages = await Promise.all([0, 2, 4, 6].map(offset => titles({ sort, offset, limit: 2 })))
    expect(pages).toEqual([expected.slice(0, 2), expected.slice(2, 4), expected.slice(4), []])
    expect(await titles({ sort, assigneeId: Number(bob.id) })).toEqual(
      expected.filter(title => title === 'soon' || title === 'high'),
    )
  })

  test('start with the last changed card', async () => {
    const [first] = await ada.client.cards.list({ projectId, limit: 1 })
    await new Promise(resolve => setTimeout(resolve, 5))
    await update(first!.id, { title: 'changed' })
    expect((await titles({ sort: '-updatedAt' }))[0]).toBe('changed')
  })

  test('of one column are sorted by position on the board', async () => {
    const [first, second] = await ada.client.cards.list({ projectId })
    await ada.client.cards.move({ projectId, cardId: first!.id, columnId: first!.columnId, position: 3 })
    const columnId = Number(second!.columnId)
    expect(await titles({ columnId, sort: 'position' })).toEqual(['plain', 'soon', 'high', 'late', 'later'])
    expect(await titles({ columnId, sort: 'position', offset: 1, limit: 2 })).toEqual(['soon', 'high'])
    expect(await titles({ columnId, sort: '-position', limit: 2 })).toEqual(['later', 'late'])
  })

  test('use an offset if they are sorted, and a cursor if they are ordered by id', async () => {
    expect(await problem(titles({ sort: 'priority', cursor: 1 }))).toMatchObject([{ path: 'cursor' }])
    expect(await problem(titles({ offset: 1 }))).toMatchObject([{ path: 'offset' }])
    expect(await problem(titles({ sort: 'title' as 'id' }))).toMatchObject([{ path: 'sort' }])
  })

  test('of ready cards are sorted by priority, then by due date', async () => {
    expect(await titles({ ready: true })).toEqual(['soon', 'later', 'high', 'plain', 'late'])
    expect(await titles({ ready: true, sort: 'dueAt' })).toEqual(['soon', 'later', 'late', 'plain', 'high'])
  })
})

describe('external routes', () => {
  test('show a plan with integer ids, accept it, and filter by it', async () => {
    const key = await ada.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.read', 'cards.create'],
    })
    const { external } = board.as(key.key)
    const plan = { priority: 'high', dueAt: '2030-01-31T12:00:00.000Z', estimate: 3 } as const
    const made = await external.create({ projectId, title: 'one', ...plan, assigneeIds: [Number(bob.id)] })
    const shown = { ...plan, assignees: [{ userId: Number(bob.id), displayName: 'Bob' }] }
    expect(made).toMatchObject(shown)
    expect(await external.get({ projectId, cardId: made.id })).toMatchObject(shown)
    await external.create({ projectId, title: 'two' })
    const list = async (filter: object) => (await external.list({ projectId, ...filter })).items
    expect(await list({})).toMatchObject([shown, { priority: 'normal', assignees: [], dueAt: null, estimate: null }])
    expect(await list({ assigneeId: Number(bob.id) })).toHaveLength(1)
    expect(await list({ priority: 'normal' })).toMatchObject([{ title: 'two' }])
    expect(await list({ dueBefore: '2031-01-01T00:00:00.000Z' })).toMatchObject([{ title: 'one' }])
  })
})
