import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let projectId: string
let first: string
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'Boards', path: board.dataDir })).id
  first = (await board.client.boards.list({ projectId }))[0]!.id
})

const fails = (promise: Promise<unknown>, status: number, code: string) =>
  expect(promise).rejects.toMatchObject({ status, code })
const create = async (name: string, templateId?: string) =>
  (await board.client.boards.create({ projectId, name, templateId })).id
const names = async () => {
  const boards = await board.client.boards.list({ projectId })
  expect(boards.map(({ position }) => position)).toEqual(boards.map((_, at) => at))
  return boards.map(({ name }) => name).join()
}
const columnsOf = async (boardId: string) =>
  (await board.client.columns.list({ projectId, boardId })).map(({ name, columnType, prompt, wipLimit, pull }) => ({
    name,
    columnType,
    prompt,
    wipLimit,
    pull,
  }))

describe('a board', () => {
  it('gets the columns of its template, or of Kanban', async () => {
    expect((await columnsOf(await create('Plain'))).map(({ name }) => name)).toEqual(['Backlog', 'In Progress', 'Done'])
    for (const template of await board.client.templates.list())
      expect(await columnsOf(await create(template.name, template.id))).toEqual(template.columns)
    const columns = [
      { name: 'Old', columnType: 'archive' as const, prompt: 'p', wipLimit: null, pull: false },
      { name: 'Work', columnType: 'active' as const, prompt: '', wipLimit: 3, pull: true },
    ]
    const { id } = await board.client.templates.create({ name: 'Mine', columns })
    expect(await columnsOf(await create('Own', id))).toEqual(columns)
    const { key } = await board.client.keys.create({ name: 'k', scope: 'server', permissions: ['boards.write'] })
    const byKey = board.as(key).boards.create({ projectId, name: 'x', templateId: id })
    await fails(byKey, 403, 'INSUFFICIENT_PERMISSIONS')
    for (const [at, wrong] of [{ wipLimit: null }, { columnType: 'archive' as const, pull: false }].entries())
      await expect(
        board.client.templates.update({ id, columns: [columns[0]!, { ...columns[1]!, ...wrong }] }),
        `wrong ${at}`,
      ).rejects.toMatchObject({ code: 'VALIDATION_FAILED', details: [{ path: 'columns.1.wipLimit' }] })
    await fails(create('x', '999999'), 404, 'TEMPLATE_NOT_FOUND')
    expect(await names()).toBe('Board,Plain,Kanban,Plan, build, review,Empty,Own')
  })

  it('remains when its template is deleted', async () => {
    const { id } = await board.client.templates.create({
      name: 'Short',
      columns: [{ name: 'Only', columnType: 'done' }],
    })
    const made = await create('Made', id)
    await board.client.templates.delete({ id })
    expect(await columnsOf(made)).toHaveLength(1)
  })

  it('can be renamed', async () => {
    expect(await board.client.boards.update({ projectId, boardId: first, name: 'Renamed' })).toMatchObject({
      id: first,
      name: 'Renamed',
      position: 0,
    })
    expect((await board.client.boards.update({ projectId, boardId: first })).name).toBe('Renamed')
    for (const name of ['', 'x'.repeat(201), 'a\0'])
      await fails(board.client.boards.update({ projectId, boardId: first, name }), 400, 'VALIDATION_FAILED')
  })

  it('is deleted with its columns and cards, also archived and deleted ones, and the boards after it move up', async () => {
    const second = await create('Second')
    await create('Third')
    const columnId = (await board.client.columns.list({ projectId, boardId: second }))[0]!.id
    const cards = await Promise.all(
      ['a', 'b', 'c'].map(title => board.client.cards.create({ projectId, title, columnId })),
    )
    await board.client.cards.archive({ projectId, cardId: cards[1]!.id })
    await board.client.cards.delete({ projectId, cardId: cards[2]!.id })
    expect((await board.request('DELETE', `/api/projects/${projectId}/boards/${second}`)).status).toBe(204)
    expect(await names()).toBe('Board,Third')
    for (const { id: cardId } of cards)
      await fails(board.client.cards.get({ projectId, cardId }), 404, 'CARD_NOT_FOUND')
    await fails(board.client.cards.restore({ projectId, cardId: cards[2]!.id }), 404, 'CARD_NOT_FOUND')
    await fails(board.client.boards.delete({ projectId, boardId: second }), 404, 'BOARD_NOT_FOUND')
    expect((await board.client.projects.stats({ id: projectId })).total).toBe(0)
  })

  it('can be deleted unless it is the last one', async () => {
    await fails(board.client.boards.delete({ projectId, boardId: first }), 409, 'LAST_BOARD')
    const second = await create('Second')
    await board.client.boards.delete({ projectId, boardId: first })
    await fails(board.client.boards.delete({ projectId, boardId: second }), 409, 'LAST_BOARD')
  })

  it('remains the last one also when two are deleted concurrently', async () => {
    const second = await create('Second')
    const replies = await Promise.all(
      [first, second].map(boardId => board.request('DELETE', `/api/projects/${projectId}/boards/${boardId}`)),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 409])
  })
})

describe('the order of boards', () => {
  it('is set by reorder, and makes the first one the default board', async () => {
    const [second, third] = [await create('Second'), await create('Third')]
    expect(
      (await board.client.boards.reorder({ projectId, ids: [third, first, second] })).map(({ id, position }) => [
        id,
        position,
      ]),
    ).toEqual([
      [third, 0],
      [first, 1],
      [second, 2],
    ])
    expect(await names()).toBe('Third,Board,Second')
    expect((await board.client.cards.create({ projectId, title: 't' })).boardId).toBe(third)
  })

  it('requires all ids exactly once', async () => {
    const second = await create('Second')
    const other = await board.client.projects.create({ name: 'Other', path: board.dataDir })
    const foreign = (await board.client.boards.list({ projectId: other.id }))[0]!.id
    for (const ids of [
      [],
      [first],
      [first, first],
      [first, second, second],
      [first, foreign],
      [first, second, foreign],
      [first, '999999'],
    ])
      await fails(board.client.boards.reorder({ projectId, ids }), 400, 'INVALID_ORDER')
    for (const ids of [['x'], ['0'], [first, null], 'x', null])
      expect(
        (await board.request('PATCH', `/api/projects/${projectId}/boards/reorder`, { body: { ids } })).body.error.code,
      ).toBe('VALIDATION_FAILED')
    expect(await names()).toBe('Board,Second')
  })

  it('stays dense while twenty clients reorder, create and delete concurrently', async () => {
    const ids = [first, ...(await Promise.all(['A', 'B', 'C', 'D'].map(name => create(name))))]
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        if (i % 4 === 0) await create(`New ${i}`)
        else if (i % 4 === 1) await board.client.boards.delete({ projectId, boardId: ids[(i - 1) / 4]! })
        else
          await board.client.boards
            .reorder({ projectId, ids: (await board.client.boards.list({ projectId })).map(({ id }) => id).reverse() })
            .catch(() => {
              /* Another client was faster. */
            })
      }),
    )
    expect((await names()).split(',')).toHaveLength(5)
  })
})
