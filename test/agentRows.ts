import { insertSession, type NewSession } from '../src/store/sessions.ts'
import type { TranscriptSession } from '../src/agents/transcriptWriter.ts'
import type { TestBoard } from './helper.ts'

export interface TestCard { projectId: string; cardId: string }

/** A project in a folder of its own with a card, which is in its first column. */
export async function newCard(board: TestBoard, title = 'A card', token = board.token): Promise<TestCard & { path: string }> {
  const path = board.folder(`project-${Math.random().toString(36).slice(2)}`)
  const { id: projectId } = await board.as(token).projects.create({ name: title, path })
  const { id: cardId } = await board.as(token).cards.create({ projectId, title, prompt: 'Do it', deferred: true })
  return { projectId, cardId, path }
}

/** Puts a session into the database, as if an agent ran on the card. */
export async function newSession(board: TestBoard, { projectId, cardId }: TestCard, more: Partial<NewSession> = {}): Promise<TranscriptSession> {
  const session = { projectId: Number(projectId), cardId: Number(cardId), agent: 'fixture' }
  const id = await board.server.app.db.transaction(tx => insertSession(tx, { ...session, purpose: 'work', status: 'running', prompt: 'Do it', ...more }))
  return { ...session, id, isPre: more.purpose === 'pre' }
}
