import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { exported, imported, normal, type Doc } from './files.ts'
import { randomDocument } from './randomBoards.ts'

const runs = Number(process.env.BOARD_TEST_ROUNDS ?? 12)

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

/** A document without content types, which an import derives from the bytes. */
const withoutTypes = (document: Doc): Doc => ({
  ...document,
  attachments: document.attachments.map(({ contentType: _, ...attachment }: Doc) => attachment),
})

describe("a board's own file", () => {
  it('is imported equal, with any content, and once more', async () => {
    const path = board.folder('random')
    await fc.assert(
      fc.asyncProperty(randomDocument(path), async document => {
        const { projectIds, ...counts } = await imported(board, { format: 'board' }, document)
        const files = await Promise.all(projectIds.map((id: string) => exported(board, id)))
        expect(files.map(normal).map(withoutTypes)).toEqual(
          document.projects.map(({ id }: Doc) => withoutTypes(normal(only(document, id)))),
        )
        for (const part of ['projects', 'boards', 'columns', 'cards', 'attachments'])
          expect([part, counts[part]]).toEqual([part, document[part].length])
        const again = await imported(board, { format: 'board' }, files[0]!)
        expect(normal(await exported(board, again.projectIds[0]))).toEqual(normal(files[0]!))
      }),
      { numRuns: runs, interruptAfterTimeLimit: 60_000, endOnFailure: runs < 100 },
    )
  })
})

/** The part of a document that belongs to one project. */
function only(document: Doc, projectId: number): Doc {
  const boards = document.boards.filter((each: Doc) => each.projectId === projectId)
  const within = (part: string, field: string, owners: Doc[]) =>
    document[part].filter((each: Doc) => owners.some(({ id }) => id === each[field]))
  const columns = within('columns', 'boardId', boards)
  const scripts = document.scripts.filter((each: Doc) => each.projectId === projectId)
  const gates = document.gates.filter((each: Doc) => each.projectId === projectId)
  const schedules = document.schedules.filter((each: Doc) => each.projectId === projectId)
  const cards = within('cards', 'columnId', columns)
  const sessions = within('sessions', 'cardId', cards)
  const attachments = within('attachments', 'cardId', cards)
  return {
    ...document,
    projects: document.projects.filter(({ id }: Doc) => id === projectId),
    boards,
    columns,
    gates,
    scripts,
    schedules,
    cards,
    sessions,
    messages: within('messages', 'sessionId', sessions),
    dependencies: within('dependencies', 'cardId', cards),
    issues: within('issues', 'cardId', cards),
    reviews: within('reviews', 'cardId', cards),
    comments: within('comments', 'cardId', cards),
    activity: within('activity', 'cardId', cards),
    attachments,
    contents: within('contents', 'attachmentId', attachments),
  }
}
