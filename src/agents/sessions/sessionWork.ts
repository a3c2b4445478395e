import { readCard, type CardRow } from '../../store/cards/cards.ts'
import type { Reader } from '../../store/engine/database.ts'
import { readProject, type ProjectRow } from '../../store/projects/projects.ts'
import { readSession, type SessionRow } from '../../store/agents/sessions.ts'

/** A session with its card and project. Undefined if one was deleted. */
export async function readSessionWork(
  db: Reader,
  sessionId: number,
): Promise<{ session: SessionRow; card: CardRow; project: ProjectRow } | undefined> {
  const session = await readSession(db, sessionId)
  if (!session) return undefined
  const [card, project] = await Promise.all([
    readCard(db, session.projectId, session.cardId),
    readProject(db, session.projectId),
  ])
  return card && project && { session, card, project }
}
