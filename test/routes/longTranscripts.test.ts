import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TranscriptSession } from '../../src/agents/transcript/transcriptWriter.ts'
import { updateSession } from '../../src/store/agents/sessions.ts'
import { purgeTranscripts } from '../../src/store/agents/transcripts.ts'
import { newCard, newSession } from '../support/agents/agentRows.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

const messages = 3000
const endedAt = '2026-05-01T12:10:00.000Z'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

/** An ended session with a long transcript. */
async function longSession(card: Parameters<typeof newSession>[1]): Promise<TranscriptSession> {
  const session = await newSession(board, card, { status: 'completed' })
  await board.server.app.db.transaction(async tx => {
    await tx.run(
      `INSERT INTO transcript_messages (session_id, card_id, role, at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${messages})
       SELECT ?, ?, 'agent', '' FROM n`,
      [session.id, Number(card.cardId)],
    )
    await tx.run(
      `INSERT INTO transcript_pieces (message_id, number, data) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
       SELECT id, i, '"text"' FROM transcript_messages m, n WHERE m.session_id = ?`,
      [session.id],
    )
    await updateSession(tx, session.id, { endedAt })
  })
  return session
}

const countMessages = async ({ id }: TranscriptSession): Promise<number> =>
  (await board.server.app.db.get<{ total: number }>(
    'SELECT count(*) AS total FROM transcript_messages WHERE session_id = ?',
    [id],
  ))!.total

/** How many messages remain after each purge step with a write of another client. */
async function leftMeanwhile(session: TranscriptSession, work: () => Promise<unknown>): Promise<number[]> {
  const left: number[] = []
  let isDone = false
  const working = work().finally(() => {
    isDone = true
  })
  while (!isDone) {
    await board.server.app.db.transaction(tx => tx.run('UPDATE projects SET updated_at = updated_at'))
    left.push(await countMessages(session))
  }
  await working
  return left
}

it.each(['project', 'board'] as const)('a %s with long transcripts is deleted while others write', async what => {
  const card = await newCard(board)
  const { client } = board
  const { id: boardId } = (await client.boards.list({ projectId: card.projectId }))[0]!
  await client.boards.create({ projectId: card.projectId, name: 'Another' })
  const session = await longSession(card)
  const left = await leftMeanwhile(session, () =>
    what === 'project'
      ? client.projects.delete({ id: card.projectId })
      : client.boards.delete({ projectId: card.projectId, boardId }),
  )
  expect(left.some(count => count > 0 && count < messages)).toBe(true)
  expect(await countMessages(session)).toBe(0)
})

it('nothing is purged for a board that remains because it is the only one', async () => {
  const card = await newCard(board)
  const { client } = board
  const { id: boardId } = (await client.boards.list({ projectId: card.projectId }))[0]!
  const session = await longSession(card)
  await expect(client.boards.delete({ projectId: card.projectId, boardId })).rejects.toMatchObject({
    code: 'LAST_BOARD',
  })
  expect(await countMessages(session)).toBe(messages)
})

it('of the last two boards that are deleted concurrently one remains, with its transcripts', async () => {
  const { client } = board
  const card = await newCard(board)
  const { projectId } = card
  const { id: boardId } = (await client.boards.list({ projectId }))[0]!
  const other = await client.boards.create({ projectId, name: 'Another' })
  const session = await longSession(card)
  const deletions = await Promise.allSettled([
    client.boards.delete({ projectId, boardId: other.id }),
    client.boards.delete({ projectId, boardId }),
  ])
  expect(deletions.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  // On a database server, either deletion can be the first.
  const isKept = deletions[1]!.status === 'rejected'
  expect(await countMessages(session)).toBe(isKept ? messages : 0)
})

it('only transcripts of ended sessions of deleted cards are purged', async () => {
  const { db } = board.server.app
  const [gone, kept] = [await newCard(board), await newCard(board)]
  const [ended, other] = [await longSession(gone), await longSession(kept)]
  const open = await longSession(gone)
  await db.transaction(async tx => {
    await updateSession(tx, open.id, { endedAt: null })
    await tx.run('UPDATE cards SET deleted_at = ? WHERE id = ?', [endedAt, Number(gone.cardId)])
  })
  await purgeTranscripts(db, { deletedBefore: endedAt })
  expect(await countMessages(ended)).toBe(messages)
  await purgeTranscripts(db, { deletedBefore: '2026-05-01T12:10:00.001Z' })
  expect([await countMessages(ended), await countMessages(open), await countMessages(other)]).toEqual([
    0,
    messages,
    messages,
  ])
})
