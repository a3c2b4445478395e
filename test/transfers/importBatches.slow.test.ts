import { afterAll, beforeAll, expect, it } from 'vitest'
import { maxIntoExisting } from '../../src/transfers/import.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { exported, faultsOf, imported } from './files.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

const issues = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    number: index + 1,
    title: `Issue ${index + 1}`,
    url: `https://github.com/acme/web/issues/${index + 1}`,
    state: index % 3 === 0 ? 'CLOSED' : 'OPEN',
    comments: index % 10 === 0 ? [{ author: { login: 'ada' }, body: 'Yes', createdAt: '2024-01-01T00:00:00Z' }] : [],
  }))

it('a project accepts more cards than fit into one batch, in order, and a second import adds the rest', async () => {
  const { id: projectId } = await board.client.projects.create({ name: 'There', path: board.folder('work') })
  const all = issues(6000)
  expect(await imported(board, { format: 'github', projectId }, all.slice(0, 5200))).toMatchObject({
    cards: 5200,
    skipped: 0,
    columns: 0,
  })
  expect(await imported(board, { format: 'github', projectId }, all)).toMatchObject({ cards: 800, skipped: 5200 })
  const { cards, comments } = await exported(board, projectId)
  expect([cards.length, comments.length]).toEqual([6000, 600])
  const columns = await board.client.columns.list({ projectId })
  expect(columns.map(({ name, cardCount }) => [name, cardCount])).toEqual([
    ['Backlog', 4000],
    ['In Progress', 0],
    ['Done', 2000],
  ])
  expect(await faultsOf(board, { format: 'board', projectId }, await exported(board, projectId))).toEqual([
    expect.stringContaining(
      `at most ${maxIntoExisting(board.server.app.db)} fit into an existing project: omit projectId (-P on the command line)`,
    ),
  ])
}, 240_000)
