import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'

let board: TestBoard
let projectId: string
let boardId: string
let backlog: string
let active: string
let done: string
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'Columns', path: board.dataDir })).id
  boardId = (await board.client.boards.list({ projectId }))[0]!.id
  ;[backlog, active, done] = (await board.client.columns.list({ projectId })).map(({ id }) => id) as [
    string,
    string,
    string,
  ]
})

const fails = (promise: Promise<unknown>, status: number, code: string) =>
  expect(promise).rejects.toMatchObject({ status, code })
it('a move into an archive column and out of it sends events that the card is archived, and no longer is', async () => {
  const moved = await card('moved')
  const shelves = await Promise.all(
    ['A', 'B'].map(name => board.client.columns.create({ projectId, boardId, name, columnType: 'archive' })),
  )
  const live = await follow(board.url, board.token, projectId)
  for (const columnId of [done, shelves[0]!.id, shelves[1]!.id, backlog])
    await board.client.cards.move({ ...moved, columnId })
  await board.client.cards.archive(moved)
  await board.client.cards.move({ ...moved, columnId: done })
  const told = () => live.messages.filter(({ seq }) => seq !== undefined).map(({ type }) => type)
  await eventually('all news', () => told().length >= 9)
  expect(told()).toEqual([
    'card.moved',
    'card.moved',
    'card.archived',
    'card.moved',
    'card.moved',
    'card.unarchived',
    'card.archived',
    'card.moved',
    'card.unarchived',
  ])
  live.close()
})

it.each([' ', '\t\n', '\u200b', '\u2060\ufeff \u00ad', '\u3164', '\u2800', '\u202e\u200d'])(
  'an invisible name or title is rejected: %j',
  async blank => {
    const refused = async (made: Promise<unknown>, path: string) =>
      expect(made).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        details: [{ path, message: 'must contain a visible character' }],
      })
    const { cardId } = await card(`seen${blank}`)
    await refused(board.client.cards.create({ projectId, title: blank }), 'title')
    await refused(board.client.cards.update({ projectId, cardId, title: blank }), 'title')
    await refused(board.client.columns.create({ projectId, boardId, name: blank, columnType: 'done' }), 'name')
    await refused(board.client.projects.create({ name: blank, path: board.dataDir }), 'name')
    await refused(board.client.scripts.create({ projectId, name: blank, command: 'true' }), 'name')
    await refused(board.client.keys.create({ name: blank, scope: 'server', permissions: ['cards.read'] }), 'name')
    await refused(board.client.organizations.create({ name: blank }), 'name')
    await refused(board.client.templates.create({ name: blank, columns: [] }), 'name')
  },
)

const names = async (of = boardId) => {
  const columns = await board.client.columns.list({ projectId, boardId: of })
  expect(columns.map(({ position }) => position)).toEqual(columns.map((_, at) => at))
  return columns.map(({ name }) => name).join()
}
const card = async (title: string, columnId = backlog) => ({
  projectId,
  cardId: (await board.client.cards.create({ projectId, title, columnId })).id,
})

describe('a column', () => {
  it('is added at the end of a board of the project', async () => {
    expect(
      await board.client.columns.create({ projectId, boardId, name: 'Review', columnType: 'active', prompt: 'p' }),
    ).toEqual({
      id: expect.any(String),
      name: 'Review',
      columnType: 'active',
      position: 3,
      boardId,
      prompt: 'p',
      agent: null,
      profile: null,
      model: null,
      mode: null,
      effort: null,
      wipLimit: null,
      pull: false,
      mergedColumnId: null,
      closedColumnId: null,
      cardCount: 0,
    })
    const other = await board.client.projects.create({ name: 'Other', path: board.dataDir })
    const foreign = (await board.client.boards.list({ projectId: other.id }))[0]!.id
    for (const wrong of [foreign, '999999'])
      await fails(
        board.client.columns.create({ projectId, boardId: wrong, name: 'x', columnType: 'done' }),
        404,
        'BOARD_NOT_FOUND',
      )
    await fails(
      board.client.columns.create({ projectId, boardId, name: 'x', columnType: 'somewhere' as 'done' }),
      400,
      'VALIDATION_FAILED',
    )
  })

  it('is listed with its board, or with all boards in order', async () => {
    const { id: second } = await board.client.boards.create({ projectId, name: 'Second' })
    await board.client.boards.reorder({ projectId, ids: [second, boardId] })
    expect((await board.client.columns.list({ projectId })).map(column => column.boardId)).toEqual([
      second,
      second,
      second,
      boardId,
      boardId,
      boardId,
    ])
    expect(await names(second)).toBe('Backlog,In Progress,Done')
    await fails(board.client.columns.list({ projectId, boardId: '999999' }), 404, 'BOARD_NOT_FOUND')
  })

  it('can get another name and prompt', async () => {
    expect(await board.client.columns.update({ projectId, columnId: active, name: 'Doing' })).toMatchObject({
      name: 'Doing',
      prompt: '',
      columnType: 'active',
    })
    expect(await board.client.columns.update({ projectId, columnId: active, prompt: 'Do it' })).toMatchObject({
      name: 'Doing',
      prompt: 'Do it',
    })
    expect(await board.client.columns.update({ projectId, columnId: active, prompt: '' })).toMatchObject({
      name: 'Doing',
      prompt: '',
    })
    expect(
      (await board.request('PATCH', `/api/projects/${projectId}/columns/${active}`, { body: { columnType: 'done' } }))
        .status,
    ).toBe(400)
  })

  it('is not deleted while it holds cards, and closes the gap after its deletion', async () => {
    const ref = await card('a')
    await fails(board.client.columns.delete({ projectId, columnId: backlog }), 409, 'COLUMN_NOT_EMPTY')
    await board.client.cards.move({ ...ref, columnId: done })
    expect((await board.request('DELETE', `/api/projects/${projectId}/columns/${backlog}`)).status).toBe(204)
    expect(await names()).toBe('In Progress,Done')
    await fails(board.client.columns.delete({ projectId, columnId: backlog }), 404, 'COLUMN_NOT_FOUND')
  })

  it('leaves its archived and deleted cards to another column when it is deleted', async () => {
    const [archived, deleted] = [await card('archived', active), await card('deleted', active)]
    await board.client.cards.archive(archived)
    await board.client.cards.delete(deleted)
    await board.client.columns.delete({ projectId, columnId: active })
    expect(await board.client.cards.get(archived)).toMatchObject({ columnId: backlog, position: null })
    expect(await board.client.cards.unarchive(archived)).toMatchObject({ columnId: backlog, position: 0 })
    expect(await board.client.cards.restore(deleted)).toMatchObject({ columnId: backlog, position: 1 })
  })

  it('leaves them to one of the same board first, then to one of another', async () => {
    const second = await board.client.boards.create({ projectId, name: 'Second' })
    const [first, next, last] = (await board.client.columns.list({ projectId, boardId: second.id })).map(
      ({ id }) => id,
    ) as [string, string, string]
    const archived = await card('archived', first)
    await board.client.cards.archive(archived)
    for (const [columnId, adopter, adopterBoard] of [
      [first, next, second.id],
      [next, last, second.id],
      [last, backlog, boardId],
    ] as const) {
      await board.client.columns.delete({ projectId, columnId })
      expect(await board.client.cards.get(archived)).toMatchObject({ columnId: adopter, boardId: adopterBoard })
    }
  })

  it('is not deleted if its archived cards would have no other column', async () => {
    const archived = await card('archived')
    await board.client.cards.archive(archived)
    for (const columnId of [active, done]) await board.client.columns.delete({ projectId, columnId })
    await fails(board.client.columns.delete({ projectId, columnId: backlog }), 409, 'COLUMN_NOT_EMPTY')
    expect((await board.client.cards.get(archived)).columnId).toBe(backlog)
  })

  it('can be the last one of a board', async () => {
    for (const columnId of [backlog, active, done]) await board.client.columns.delete({ projectId, columnId })
    expect(await names()).toBe('')
    await fails(board.client.cards.create({ projectId, title: 'nowhere' }), 404, 'COLUMN_NOT_FOUND')
  })
})

describe('clean-all', () => {
  it('deletes all cards of a column, of any number, and of no other; each can be restored', async () => {
    const titles = Array.from({ length: 450 }, (_, i) => `card ${i}`)
    for (let i = 0; i < 450; i += 50) await Promise.all(titles.slice(i, i + 50).map(title => card(title)))
    const kept = await card('kept', active)
    const one = (await board.client.cards.list({ projectId, columnId: backlog, limit: 1 }))[0]!
    const live = await follow(board.url, board.token, projectId)
    expect((await board.request('POST', `/api/projects/${projectId}/columns/${backlog}/clean-all`)).status).toBe(204)
    expect((await board.client.cards.list({ projectId })).map(({ id }) => id)).toEqual([kept.cardId])
    expect((await board.client.columns.list({ projectId })).map(({ cardCount }) => cardCount)).toEqual([0, 1, 0])
    expect((await board.client.projects.stats({ id: projectId })).total).toBe(1)
    const told = () => new Set(live.messages.filter(({ type }) => type === 'card.deleted').map(({ data }) => data.id))
    await eventually('the event of each card', () => told().size >= 450)
    expect([told().size, told().has(one.id), told().has(kept.cardId)]).toEqual([450, true, false])
    live.close()
    expect(await board.client.cards.restore({ projectId, cardId: one.id })).toMatchObject({
      columnId: backlog,
      position: 0,
    })
    await board.client.columns.clear({ projectId, columnId: backlog })
    await board.client.columns.delete({ projectId, columnId: backlog })
  })

  it('also deletes cards archived from the column, even in an archive column', async () => {
    const [shelved, inArchive, elsewhere] = [
      await card('shelved'),
      await card('in archive'),
      await card('elsewhere', active),
    ]
    const shelf = await board.client.columns.create({ projectId, boardId, name: 'Shelf', columnType: 'archive' })
    await board.client.cards.archive(shelved)
    await board.client.cards.archive(elsewhere)
    await board.client.cards.move({ ...inArchive, columnId: shelf.id })
    await board.client.columns.clear({ projectId, columnId: backlog })
    const archived = async () => (await board.client.cards.list({ projectId, archived: true })).map(({ id }) => id)
    expect((await archived()).sort()).toEqual([inArchive.cardId, elsewhere.cardId].sort())
    await board.client.columns.clear({ projectId, columnId: shelf.id })
    expect(await archived()).toEqual([elsewhere.cardId])
    expect((await board.client.cards.restore(shelved)).archivedAt).not.toBeNull()
  })

  it('answers 404 for a column of another project', async () => {
    const other = await board.client.projects.create({ name: 'Other', path: board.dataDir })
    await fails(board.client.columns.clear({ projectId: other.id, columnId: backlog }), 404, 'COLUMN_NOT_FOUND')
  })
})

describe('the order of columns', () => {
  it('is set by reorder', async () => {
    expect(
      (await board.client.columns.reorder({ projectId, ids: [done, backlog, active] })).map(({ id, position }) => [
        id,
        position,
      ]),
    ).toEqual([
      [done, 0],
      [backlog, 1],
      [active, 2],
    ])
    expect(await names()).toBe('Done,Backlog,In Progress')
    expect((await board.client.cards.create({ projectId, title: 't' })).columnId).toBe(done)
  })

  it('requires all ids of one board exactly once', async () => {
    const { id: second } = await board.client.boards.create({ projectId, name: 'Second' })
    const there = (await board.client.columns.list({ projectId, boardId: second })).map(({ id }) => id)
    const other = await board.client.projects.create({ name: 'Other', path: board.dataDir })
    const foreign = (await board.client.columns.list({ projectId: other.id }))[0]!.id
    for (const ids of [
      [],
      [backlog],
      [backlog, active, active],
      [backlog, active, done, done],
      [backlog, active, there[0]!],
      [backlog, active, done, ...there],
      [backlog, active, '999999'],
      [backlog, active, foreign],
    ])
      expect(
        (await board.request('PATCH', `/api/projects/${projectId}/columns/reorder`, { body: { ids } })).status,
        ids.join(),
      ).toBe(400)
    for (const ids of [[foreign], ['999999']])
      await fails(board.client.columns.reorder({ projectId, ids }), 404, 'COLUMN_NOT_FOUND')
    expect(await names()).toBe('Backlog,In Progress,Done')
  })
})
