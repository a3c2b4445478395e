import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Permission } from '../../src/contract/route.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { exported, imported, minimalDocument } from '../transfers/files.ts'

type Client = TestBoard['client']
let board: TestBoard
let projectId: string
let columns: Record<'backlog' | 'active' | 'done' | 'archive', string>
beforeAll(async () => void (board = await startBoard()))
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'p', path: board.folder('p') })).id
  const [first] = await board.client.boards.list({ projectId })
  await board.client.columns.create({ projectId, boardId: first!.id, name: 'Archive', columnType: 'archive' })
  const all = await board.client.columns.list({ projectId })
  columns = Object.fromEntries(all.map(({ columnType, id }) => [columnType, id])) as typeof columns
})

const edit = (column: keyof typeof columns, change: Partial<Parameters<Client['columns']['update']>[0]>, by?: Client) =>
  (by ?? board.client).columns.update({ projectId, columnId: columns[column], ...change })
const add = (title: string, card: Partial<Parameters<Client['cards']['create']>[0]> = {}) =>
  board.client.cards.create({ projectId, title, deferred: true, ...card })
const at = (cardId: string) => ({ projectId, cardId })
const move = (cardId: string, column: keyof typeof columns, more: { force?: boolean; position?: number } = {}) =>
  board.client.cards.move({ ...at(cardId), columnId: columns[column], ...more })
const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: 'done', message: '' }),
    ({ code, message }: { code: string; message: string }) => ({ code, message }),
  )
const code = async (promise: Promise<unknown>) => (await problemOf(promise)).code
const keyed = async (...permissions: Permission[]) =>
  board.as((await board.client.keys.create({ name: 'k', scope: 'project', projectId, permissions })).key)

describe('a limit', () => {
  test('is null or 1 to 10,000, and shown', async () => {
    expect(await board.client.columns.list({ projectId })).toMatchObject([{ wipLimit: null, pull: false }, {}, {}, {}])
    expect(await edit('active', { wipLimit: 3 })).toMatchObject({ wipLimit: 3, pull: false, name: 'In Progress' })
    expect(await edit('active', { name: 'Work' })).toMatchObject({ wipLimit: 3, name: 'Work' })
    expect(await edit('active', { wipLimit: null })).toMatchObject({ wipLimit: null })
    for (const wipLimit of [0, -1, 1.5, 10_001])
      expect(await code(edit('active', { wipLimit }))).toBe('VALIDATION_FAILED')
  })

  test('is required for a column that pulls, and cannot be removed while it does', async () => {
    const refused = await problemOf(edit('active', { pull: true }))
    expect(refused).toEqual({ code: 'VALIDATION_FAILED', message: 'wipLimit is required for a column that pulls' })
    expect(await edit('active', { pull: true, wipLimit: 1 })).toMatchObject({ pull: true, wipLimit: 1 })
    expect(await code(edit('active', { wipLimit: null }))).toBe('VALIDATION_FAILED')
    expect(await edit('active', { wipLimit: null, pull: false })).toMatchObject({ pull: false, wipLimit: null })
    const { boardId } = (await board.client.columns.list({ projectId }))[0]!
    const made = { projectId, boardId, name: 'Review', columnType: 'active' as const }
    expect(await code(board.client.columns.create({ ...made, pull: true }))).toBe('VALIDATION_FAILED')
    expect(await board.client.columns.create({ ...made, pull: true, wipLimit: 2 })).toMatchObject({ wipLimit: 2 })
  })

  test('is rejected for archived cards, which do not count', async () => {
    expect(await problemOf(edit('archive', { wipLimit: 1 }))).toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  test('of a column that starts agents can be set only with the permission to start agents', async () => {
    const writer = await keyed('boards.write')
    expect(await edit('active', { wipLimit: 2 }, writer)).toMatchObject({ wipLimit: 2 })
    expect(await code(edit('active', { pull: true }, writer))).toBe('INSUFFICIENT_PERMISSIONS')
    await edit('active', { pull: true }, await keyed('boards.write', 'agents.run'))
    expect(await code(edit('active', { wipLimit: 3 }, writer))).toBe('INSUFFICIENT_PERMISSIONS')
    const ids = (await board.client.columns.list({ projectId })).map(({ id }) => id).toReversed()
    expect(await code(writer.columns.reorder({ projectId, ids }))).toBe('INSUFFICIENT_PERMISSIONS')
    expect(await edit('active', { name: 'Renamed' }, writer)).toMatchObject({ name: 'Renamed' })
    expect(await edit('active', { pull: false }, writer)).toMatchObject({ pull: false, wipLimit: 2 })
  })
})

describe('a full column', () => {
  const full = {
    code: 'COLUMN_FULL',
    message:
      'The column Done is full: its limit is 1, and it has 1. Move a card out of it, raise its limit, or use force.',
  }

  test('rejects every route into it, without force', async () => {
    const [first, waiting, archived, deleted] = [await add('1'), await add('2'), await add('3'), await add('4')]
    await move(archived.id, 'done')
    await board.client.cards.archive(at(archived.id))
    await move(deleted.id, 'done')
    await board.client.cards.delete(at(deleted.id))
    await edit('done', { wipLimit: 1 })
    await move(first.id, 'done')
    const key = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId,
      permissions: ['cards.create', 'cards.move'],
    })
    const external = (method: string, path: string, body: object) =>
      board.request(method, `/api/external/projects/${projectId}/cards${path}`, { token: key.key, body })
    const [column, targetColumnId] = [{ columnId: Number(columns.done) }, Number(columns.done)]
    const { client } = board
    const ways: Array<[string, (force: boolean) => Promise<unknown>]> = [
      ['move', force => move(waiting.id, 'done', { force })],
      ['create', force => add('new', { columnId: columns.done, force })],
      ['restore', force => client.cards.restore({ ...at(deleted.id), force })],
      ['unarchive', force => client.cards.unarchive({ ...at(archived.id), force })],
      ['complete', async force => client.cards.complete({ ...at((await add('5')).id), force })],
    ]
    for (const [way, go] of ways) expect(await problemOf(go(false)), way).toEqual(full)
    const keyWays = [
      ['POST', '', { title: 'x', ...column }],
      ['PATCH', `/${waiting.id}/move`, { targetColumnId, position: 0 }],
    ] as const
    for (const [method, path, body] of keyWays) expect((await external(method, path, body)).body.error).toEqual(full)
    for (const [method, path, body] of keyWays)
      expect((await external(method, path, { ...body, force: true })).status).toBeLessThan(300)
    await move(waiting.id, 'backlog')
    for (const [way, go] of ways) expect(await code(go(true)), way).toBe('done')
    expect((await problemOf(add('more', { columnId: columns.done }))).message).toContain('its limit is 1, and it has 7')
  })

  test('allows moves within it and out of it, and accepts another card when one has left', async () => {
    const [first, second, third] = [await add('1'), await add('2'), await add('3')]
    for (const { id } of [first, second]) await move(id, 'active')
    await edit('active', { wipLimit: 2 })
    expect(await move(second.id, 'active', { position: 0 })).toMatchObject({ position: 0 })
    expect(await code(move(third.id, 'active'))).toBe('COLUMN_FULL')
    await move(first.id, 'backlog')
    expect(await code(move(third.id, 'active'))).toBe('done')
    await edit('active', { wipLimit: 1 })
    expect((await board.client.columns.list({ projectId }))[1]).toMatchObject({ cardCount: 2, wipLimit: 1 })
    await board.client.cards.archive(at(third.id))
    expect(await code(move(first.id, 'active'))).toBe('COLUMN_FULL')
    await board.client.cards.delete(at(second.id))
    expect(await code(move(first.id, 'active'))).toBe('done')
    expect(await code(board.client.cards.unarchive(at(third.id)))).toBe('COLUMN_FULL')
    expect(await code(board.client.cards.restore(at(second.id)))).toBe('COLUMN_FULL')
  })

  test('does not count terminal cards, and rejects none', async () => {
    await edit('backlog', { wipLimit: 1 })
    await add('1')
    const terminal = { kind: 'terminal', command: 'true', columnId: columns.backlog } as const
    expect(await code(add('shell', terminal))).toBe('done')
  })

  test('is never exceeded by concurrent cards', async () => {
    const cards = await Promise.all(Array.from({ length: 12 }, (_, at) => add(`card ${at}`)))
    await edit('done', { wipLimit: 5 })
    const codes = await Promise.all(
      cards.map(({ id }, place) => code(place % 2 === 0 ? move(id, 'done') : board.client.cards.complete(at(id)))),
    )
    expect(codes.filter(each => each === 'done')).toHaveLength(5)
    expect(codes.filter(each => each === 'COLUMN_FULL')).toHaveLength(7)
    expect((await board.client.columns.list({ projectId }))[2]).toMatchObject({ cardCount: 5 })
  })
})

test('a file keeps limits, also of columns with more cards, and its import pulls nothing', async () => {
  const document = minimalDocument(board.folder('imported'))
  Object.assign(document.columns[0], { wipLimit: 1 })
  Object.assign(document.columns[1], { wipLimit: 2, pull: true })
  document.cards.push({ id: 2, columnId: 1, position: 1, title: 'Second' })
  const { projectIds } = await imported(board, { format: 'board' }, document)
  expect(await board.client.columns.list({ projectId: projectIds[0] })).toMatchObject([
    { wipLimit: 1, pull: false, cardCount: 2 },
    { wipLimit: 2, pull: false, cardCount: 0 },
    { wipLimit: null },
  ])
  await edit('active', { wipLimit: 4, pull: true })
  expect((await exported(board, projectId)).columns).toMatchObject([
    { wipLimit: null },
    { wipLimit: 4, pull: true },
    {},
    {},
  ])
})
