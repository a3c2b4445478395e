import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { commandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { exported, faultsOf, imported, minimalDocument } from '../transfers/files.ts'

let board: TestBoard
let projectId: string
let boardId: string
let backlog: string
let active: string
let done: string
beforeAll(async () => void (board = await startBoard()))
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: 'p', path: board.folder('p') })).id
  const columns = await board.client.columns.list({ projectId })
  ;[backlog, active, done] = columns.map(({ id }) => id) as [string, string, string]
  boardId = columns[0]!.boardId
})

const edit = (columnId: string, change: Partial<Parameters<TestBoard['client']['columns']['update']>[0]>) =>
  board.client.columns.update({ projectId, columnId, ...change })
const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  )

describe('where cards go after their pull requests', () => {
  test('is set, kept by other changes, and removed', async () => {
    const set = await edit(active, { mergedColumnId: Number(done), closedColumnId: Number(backlog) })
    expect(set).toMatchObject({ mergedColumnId: done, closedColumnId: backlog })
    expect(await edit(active, { name: 'Work' })).toMatchObject({ mergedColumnId: done, closedColumnId: backlog })
    expect(await edit(active, { mergedColumnId: null })).toMatchObject({
      mergedColumnId: null,
      closedColumnId: backlog,
    })
    const made = { projectId, boardId, name: 'Review', columnType: 'active' as const, mergedColumnId: Number(done) }
    expect(await board.client.columns.create(made)).toMatchObject({ mergedColumnId: done, closedColumnId: null })
  })

  test('is another column of the same board without agents', async () => {
    const others = await board.client.boards.create({ projectId, name: 'Other' })
    const elsewhere = (await board.client.columns.list({ projectId, boardId: others.id }))[0]!.id
    const project = await board.client.projects.create({ name: 'q', path: board.folder('q') })
    const foreign = (await board.client.columns.list({ projectId: project.id }))[0]!.id
    const same = 'VALIDATION_FAILED: mergedColumnId must be another column of the same board'
    expect(await problemOf(edit(active, { mergedColumnId: Number(elsewhere) }))).toBe(same)
    expect(await problemOf(edit(active, { mergedColumnId: Number(active) }))).toBe(same)
    expect(await problemOf(edit(backlog, { closedColumnId: Number(active) }))).toContain(
      'closedColumnId must not be an active',
    )
    expect(await problemOf(edit(active, { mergedColumnId: Number(foreign) }))).toContain('COLUMN_IN_OTHER_PROJECT')
    expect(await problemOf(edit(active, { mergedColumnId: 999_999 }))).toContain('COLUMN_NOT_FOUND')
  })

  test('is cleared when the column is deleted', async () => {
    const shipped = await board.client.columns.create({ projectId, boardId, name: 'Shipped', columnType: 'done' })
    await edit(active, { mergedColumnId: Number(shipped.id) })
    await board.client.columns.delete({ projectId, columnId: shipped.id })
    expect((await board.client.columns.list({ projectId }))[1]).toMatchObject({ mergedColumnId: null })
  })

  test('is included in an export, and refers to columns of the same board in a file', async () => {
    await edit(backlog, { mergedColumnId: Number(done) })
    const { columns } = await exported(board, projectId)
    expect(columns[0]).toMatchObject({ mergedColumnId: columns[2].id, closedColumnId: null })
    const document = minimalDocument(board.folder('imported'))
    Object.assign(document.columns[1], { mergedColumnId: 3, closedColumnId: 1 })
    const { projectIds } = await imported(board, { format: 'board' }, document)
    const [ideas, doing, old] = await board.client.columns.list({ projectId: projectIds[0]! })
    expect(doing).toMatchObject({ mergedColumnId: old!.id, closedColumnId: ideas!.id })
    Object.assign(document.columns[1], { mergedColumnId: 2, closedColumnId: 9 })
    const rule = 'must be another column of the same board, and not an active one'
    expect(await faultsOf(board, { format: 'board' }, document)).toEqual([
      `columns.1.mergedColumnId ${rule}`,
      `columns.1.closedColumnId ${rule}`,
    ])
  })

  test('is set by name on the command line', async () => {
    const cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
    await cli.ok(['columns', 'edit', 'In Progress', '--merged', 'Done', '--closed', 'Backlog'])
    expect((await board.client.columns.list({ projectId }))[1]).toMatchObject({
      mergedColumnId: done,
      closedColumnId: backlog,
    })
    await cli.ok(['columns', 'edit', 'In Progress', '--no-merged'])
    expect((await board.client.columns.list({ projectId }))[1]).toMatchObject({
      mergedColumnId: null,
      closedColumnId: backlog,
    })
    await cli.close()
  })
})
