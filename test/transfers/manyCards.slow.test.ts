import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { exported, imported, normal, type Doc } from './files.ts'
import { githubIssues, trelloBoard, type Expected } from './foreignBoards.ts'

let board: TestBoard
let path: string
beforeAll(async () => {
  board = await startBoard()
  path = board.folder('work')
})
afterAll(() => board.close())

/** The cards of an export in the expected form, in the order of their creation. */
function cardsOf({ columns, cards, comments }: Doc, expected: readonly Expected[]): Doc[] {
  const nameOf = new Map(columns.map(({ id, name }: Doc) => [id, name]))
  const said = new Map<number, string[][]>()
  for (const { cardId, authorName, createdAt, body } of comments)
    said.set(cardId, [...(said.get(cardId) ?? []), [authorName, createdAt, body]])
  return cards
    .toSorted((a: Doc, b: Doc) => a.id - b.id)
    .map((card: Doc, at: number) => ({
      title: card.title,
      column: nameOf.get(card.columnId),
      labels: card.labels,
      assignees: card.assignees.map(({ name }: Doc) => name),
      dueAt: card.dueAt,
      creatorName: card.creatorName,
      isArchived: card.archivedAt !== null,
      // Each part comes after the previous one.
      prompt: partsIn(card.prompt, expected[at]!.prompt),
      comments: said.get(card.id) ?? [],
    }))
}

function partsIn(prompt: string, parts: readonly string[]): string[] {
  let from = 0
  return parts.map(part => {
    const at = prompt.indexOf(part, from)
    from = at + part.length
    return at < 0 ? `not in ${prompt}` : part
  })
}

test.each([
  ['trello', trelloBoard(300)],
  ['github', githubIssues(300)],
] as const)('300 cards of %s lose only the listed fields, and come back equal', async (format, made) => {
  const report = await imported(board, { format, path }, JSON.stringify(made.file))
  expect(report).toMatchObject({ cards: 300 })
  expect(report.warnings.toSorted()).toEqual(made.warnings.toSorted())
  const first = await exported(board, report.projectIds[0])
  expect(cardsOf(first, made.cards)).toEqual(made.cards)
  expect(first.comments.length).toBeGreaterThan(300)

  const again = await imported(board, { format: 'board', path }, first)
  expect(again.warnings).toEqual([])
  const second = await exported(board, again.projectIds[0])
  expect(normal(second)).toEqual(normal(first))
  expect(cardsOf(second, made.cards)).toEqual(made.cards)
})
