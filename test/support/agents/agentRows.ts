import { end, type Ending } from '../../../src/domain/agents/sessions.ts'
import { insertSession, type NewSession } from '../../../src/store/agents/sessions.ts'
import type { TranscriptSession } from '../../../src/agents/transcript/transcriptWriter.ts'
import type { TestBoard } from '../servers/testBoard.ts'

export interface TestCard {
  projectId: string
  cardId: string
}

/** Creates a project in a new folder with a card in its first column. */
export async function newCard(
  board: TestBoard,
  title = 'A card',
  token = board.token,
): Promise<TestCard & { path: string }> {
  const path = board.folder(`project-${Math.random().toString(36).slice(2)}`)
  const { id: projectId } = await board.as(token).projects.create({ name: title, path })
  const { id: cardId } = await board.as(token).cards.create({ projectId, title, prompt: 'Do it', deferred: true })
  return { projectId, cardId, path }
}

/**
 * Inserts a session into the database, as if an agent ran on the card. If daemons share the database, the agent is on another machine,
 * and so is the project from then on, because each daemon checks on every event whether its own agents run.
 */
export async function newSession(
  board: TestBoard,
  card: TestCard,
  more: Partial<NewSession> = {},
): Promise<TranscriptSession> {
  const session = sessionOf(card)
  const { db } = board.server.app
  const id = await db.transaction(async tx => {
    if (db.isShared && (more.status ?? 'running') === 'running')
      await tx.run(`UPDATE projects SET host = 'another' WHERE id = ?`, [session.projectId])
    return insertSession(tx, { ...session, purpose: 'work', status: 'running', prompt: 'Do it', ...more })
  })
  return { ...session, id, purpose: more.purpose ?? 'work' }
}

/** Inserts a session into the database that ends immediately, as if an agent had run on the card. */
export const endedSession = (
  board: TestBoard,
  card: TestCard,
  status: Ending['status'],
  purpose: NewSession['purpose'] = 'work',
): Promise<void> =>
  board.server.app.db.transaction(async tx => {
    await end(
      tx,
      board.server.app.supervisor,
      await insertSession(tx, { ...sessionOf(card), purpose, status: 'running', prompt: 'Do it' }),
      { status },
    )
  })

const sessionOf = ({ projectId, cardId }: TestCard) => ({
  projectId: Number(projectId),
  cardId: Number(cardId),
  agent: 'fixture',
})
