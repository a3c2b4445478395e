import { afterAll, beforeAll, expect, test } from 'vitest'
import { newCard, newSession } from '../support/agents/agentRows.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { fileBody } from '../support/contract/seed.ts'

/** More than one page of these lists reads. */
const many = 5001
/** That many rows, of one card. */
const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

const attach = async (
  { projectId, cardId }: { projectId: string; cardId: string },
  filename: string,
): Promise<string> =>
  (await board.request('POST', `/api/projects/${projectId}/cards/${cardId}/attachments`, fileBody(filename))).body.data
    .id

test("a project's attachments are listed newest first, in pages, without those of deleted cards and of other projects", async () => {
  const card = await newCard(board)
  const { projectId } = card
  const other = { projectId, cardId: (await board.client.cards.create({ projectId, title: 'Other' })).id }
  const ids = [await attach(card, 'a.txt'), await attach(other, 'b.txt'), await attach(card, 'c.txt')]
  await attach(await newCard(board), 'elsewhere.txt')
  const first = await board.client.attachments.listProject({ projectId, limit: 2 })
  expect(first).toEqual({
    items: [
      expect.objectContaining({ id: ids[2], cardId: card.cardId, filename: 'c.txt' }),
      expect.objectContaining({ id: ids[1], cardId: other.cardId }),
    ],
    nextCursor: ids[1],
  })
  expect(
    (await board.client.attachments.listProject({ projectId, limit: 2, cursor: Number(ids[1]) })).items.map(
      ({ id }) => id,
    ),
  ).toEqual([ids[0]])
  await board.client.cards.delete(other)
  expect(await board.client.attachments.listProject({ projectId })).toMatchObject({
    items: [{ id: ids[2] }, { id: ids[0] }],
    nextCursor: null,
  })
})

test("a project's pre-sessions are listed newest first, in pages, without other sessions", async () => {
  const card = await newCard(board)
  const { projectId } = card
  const first = await newSession(board, card, { purpose: 'pre', status: 'completed' })
  await newSession(board, card)
  const second = await newSession(board, card, { purpose: 'pre', status: 'running' })
  await newSession(board, await newCard(board), { purpose: 'pre' })
  expect(await board.client.preSessions.list({ projectId, limit: 1 })).toEqual({
    items: [
      {
        sessionId: String(second.id),
        cardId: card.cardId,
        status: 'running',
        prompt: null,
        createdAt: expect.any(String),
      },
    ],
    nextCursor: String(second.id),
  })
  expect(await board.client.preSessions.list({ projectId })).toMatchObject({
    items: [{ sessionId: String(second.id) }, { sessionId: String(first.id), status: 'waiting' }],
    nextCursor: null,
  })
})

test('an old entry is on a later page, so that no page costs more than the next', async () => {
  const card = await newCard(board)
  const { projectId } = card
  const attachment = await attach(card, 'old.txt')
  const { id: session } = await newSession(board, card, { purpose: 'pre' })
  const busy = await newCard(board)
  await board.server.app.db.transaction(async tx => {
    await tx.run(
      `${numbers} INSERT INTO attachments (card_id, filename, content_type, size, sha256, stored_as, created_at) SELECT ?, 'x', 'text/plain', 0, '', 'x' || i, '' FROM n`,
      [many, busy.cardId],
    )
    await tx.run(
      `${numbers} INSERT INTO agent_sessions (project_id, card_id, agent, status, prompt, created_at) SELECT ?, ?, 'fixture', 'completed', '', '' FROM n`,
      [many, projectId, card.cardId],
    )
  })
  const [attachments, preSessions] = [
    await board.client.attachments.listProject({ projectId }),
    await board.client.preSessions.list({ projectId }),
  ]
  expect([attachments.items, preSessions.items]).toEqual([[], []])
  expect(
    (await board.client.attachments.listProject({ projectId, cursor: Number(attachments.nextCursor) })).items.map(
      ({ id }) => id,
    ),
  ).toEqual([attachment])
  expect(
    (await board.client.preSessions.list({ projectId, cursor: Number(preSessions.nextCursor) })).items.map(
      ({ sessionId }) => sessionId,
    ),
  ).toEqual([String(session)])
})
