import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { CardDetail } from '../../src/boardModel/cardCache.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let columns: Record<'backlog' | 'active' | 'done' | 'archive', string>
beforeAll(async () => void (board = await startBoard()))
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'p', path: board.folder('p') })).id
  const [first] = await board.client.boards.list({ projectId })
  const archive = { projectId, boardId: first!.id, name: 'Archive', columnType: 'archive' } as const
  await board.client.columns.create(archive)
  const all = await board.client.columns.list({ projectId })
  columns = Object.fromEntries(all.map(({ columnType, id }) => [columnType, id])) as typeof columns
})

type NewCard = Partial<Parameters<TestBoard['client']['cards']['create']>[0]>
const add = (title: string, card: NewCard = {}) =>
  board.client.cards.create({ projectId, title, deferred: true, ...card }) as Promise<CardDetail>
const read = (cardId: string) => board.client.cards.get({ projectId, cardId })
const move = (cardId: string, columnId: string, more: { force?: boolean; mustStart?: boolean } = {}) =>
  board.client.cards.move({ projectId, cardId, columnId, ...more })
const titles = async (filter: { ready?: boolean; blocked?: boolean }) =>
  (await board.client.cards.list({ projectId, ...filter })).map(({ title }) => title)
const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )

describe('a card that waits for others', () => {
  test('is blocked until all of them are done', async () => {
    const [a, b] = [await add('a'), await add('b')]
    const waiting = await add('waiting', { blockedBy: [a.id, b.id] })
    expect(waiting).toMatchObject({ blocked: true, ready: false, blockedBy: [a.id, b.id] })
    expect(await read(a.id)).toMatchObject({ blocked: false, ready: true, blocks: [waiting.id] })
    await move(a.id, columns.done)
    expect(await read(waiting.id)).toMatchObject({ blocked: true, ready: false })
    await board.client.cards.complete({ projectId, cardId: b.id })
    expect(await read(waiting.id)).toMatchObject({ blocked: false, ready: true, blockedBy: [a.id, b.id] })
    expect(await titles({ ready: true })).toEqual(['waiting'])
  })

  test.each([
    ['moved back', async (id: string) => void (await move(id, columns.backlog)), true],
    [
      'archived from there',
      async (cardId: string) => void (await board.client.cards.archive({ projectId, cardId })),
      false,
    ],
    ['moved into the archive', async (id: string) => void (await move(id, columns.archive)), false],
    ['deleted', (cardId: string) => board.client.cards.delete({ projectId, cardId }), false],
  ])('is blocked again when a done one is %s: %s', async (_, change, isBlocked) => {
    const a = await add('a')
    const waiting = await add('waiting', { blockedBy: [a.id] })
    await move(a.id, columns.done)
    await change(a.id)
    expect((await read(waiting.id)).blocked).toBe(isBlocked)
  })

  test('stays blocked by one that is archived or deleted before it is done', async () => {
    const [a, b] = [await add('a'), await add('b')]
    const waiting = await add('waiting', { blockedBy: [a.id, b.id] })
    await board.client.cards.archive({ projectId, cardId: a.id })
    expect(await code(board.client.cards.delete({ projectId, cardId: b.id }))).toBe('CARD_BLOCKS_OTHERS')
    await board.client.cards.delete({ projectId, cardId: b.id, force: true })
    expect((await read(waiting.id)).blocked).toBe(true)
    await board.client.cards.restore({ projectId, cardId: b.id })
    await move(b.id, columns.done)
    await move(a.id, columns.done)
    expect((await read(waiting.id)).blocked).toBe(false)
  })

  test('can wait across boards of the project, and for no card of another one', async () => {
    const other = await board.client.boards.create({ projectId, name: 'other' })
    const [backlog, , done] = await board.client.columns.list({ projectId, boardId: other.id })
    const a = await add('a', { columnId: backlog!.id })
    const waiting = await add('waiting', { blockedBy: [a.id] })
    await move(a.id, done!.id)
    expect((await read(waiting.id)).blocked).toBe(false)
    const strange = await board.client.projects.create({ name: 'q', path: board.folder('q') })
    const elsewhere = await board.client.cards.create({ projectId: strange.id, title: 'elsewhere' })
    expect(await code(add('refused', { blockedBy: [elsewhere.id] }))).toBe('CARD_NOT_FOUND')
    expect(await code(add('refused', { parentId: elsewhere.id }))).toBe('CARD_NOT_FOUND')
    expect(await code(add('refused', { discoveredFromId: '999999' }))).toBe('CARD_NOT_FOUND')
  })

  test('rejects cycles with their path, of blockers and of parts', async () => {
    const a = await add('a')
    const b = await add('b', { blockedBy: [a.id], parentId: a.id })
    const c = await add('c', { blockedBy: [b.id], parentId: b.id })
    const update = (change: object) => board.client.cards.update({ projectId, cardId: a.id, ...change })
    await expect(update({ blockedBy: [c.id] })).rejects.toMatchObject({
      code: 'DEPENDENCY_CYCLE',
      status: 409,
      details: [
        {
          path: 'blockedBy',
          message: `must not lead back to the card: ${[a, c, b, a].map(({ id }) => id).join(' waits for ')}`,
        },
      ],
    })
    await expect(update({ parentId: c.id })).rejects.toMatchObject({
      code: 'DEPENDENCY_CYCLE',
      details: [
        { path: 'parentId', message: expect.stringContaining(`${a.id} is a part of ${c.id} is a part of ${b.id}`) },
      ],
    })
    expect(await code(update({ blockedBy: [a.id] }))).toBe('DEPENDENCY_CYCLE')
    expect(await code(update({ parentId: a.id }))).toBe('DEPENDENCY_CYCLE')
    expect(await read(a.id)).toMatchObject({ blockedBy: [], parentId: null })
  })

  test('concurrent changes that would close a cycle all succeed except the last', async () => {
    const cards = await Promise.all(['a', 'b', 'c', 'd'].map(title => add(title)))
    const codes = await Promise.all(
      cards.map(({ id }, at) =>
        code(board.client.cards.update({ projectId, cardId: id, blockedBy: [cards[(at + 1) % cards.length]!.id] })),
      ),
    )
    expect(codes.toSorted()).toEqual(['DEPENDENCY_CYCLE', 'done', 'done', 'done'])
  })

  test('blocks at most 1,000 cards, each of which gets an event when it is done', async () => {
    const a = await add('a')
    const lines = Array.from({ length: 1000 }, (_, at) => add(`waits ${at}`, { blockedBy: [a.id] }))
    await Promise.all(lines)
    await expect(add('one more', { blockedBy: [a.id] })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ path: 'blockedBy', message: `must not name card ${a.id}, which already blocks 1000 cards` }],
    })
    await move(a.id, columns.done)
    expect(await titles({ blocked: true })).toEqual([])
    expect(await titles({ ready: true })).toHaveLength(1000)
  })

  test('names each card once, and at most 100', async () => {
    const a = await add('a')
    for (const blockedBy of [[a.id, a.id], Array.from({ length: 101 }, (_, at) => String(at + 1))])
      expect(await code(add('refused', { blockedBy }))).toBe('VALIDATION_FAILED')
  })

  test('sends one ready event when its last blocker is done', async () => {
    const live = await follow(board.url, board.token, projectId)
    const [a, b] = [await add('a'), await add('b')]
    const waiting = await add('waiting', { blockedBy: [a.id, b.id] })
    await move(a.id, columns.done)
    await move(b.id, columns.done)
    await move(b.id, columns.backlog)
    await live.message('card.updated', ({ data }) => data.id === waiting.id && data.blocked)
    expect(live.messages.filter(({ type }) => type === 'card.ready').map(({ data }) => data)).toMatchObject([
      { id: waiting.id, blocked: false, ready: true },
    ])
    live.close()
  })
})

describe('a card that is a part of another', () => {
  test("updates the parent's total and done counts when it moves or is deleted", async () => {
    const whole = await add('whole')
    const [a, b] = [await add('a', { parentId: whole.id }), await add('b', { parentId: whole.id })]
    const progress = async () => (await read(whole.id)).children
    expect(await progress()).toEqual({ total: 2, done: 0 })
    await move(a.id, columns.done)
    expect(await progress()).toEqual({ total: 2, done: 1 })
    await board.client.cards.delete({ projectId, cardId: a.id })
    expect(await progress()).toEqual({ total: 1, done: 0 })
    await board.client.cards.restore({ projectId, cardId: a.id })
    expect(await progress()).toEqual({ total: 2, done: 1 })
    await board.client.cards.update({ projectId, cardId: b.id, parentId: null })
    expect(await progress()).toEqual({ total: 1, done: 1 })
    await move(a.id, columns.backlog)
    expect(await progress()).toEqual({ total: 1, done: 0 })
    const [listed] = await board.client.cards.list({ projectId, search: 'whole' })
    expect(listed).toMatchObject({ children: { total: 1, done: 0 }, parentId: null })
  })
})
