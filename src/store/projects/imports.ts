import { nowMs } from '../engine/databaseTime.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { insertProject, type NewProject } from './projects.ts'
import type { NewMessage } from '../agents/transcripts.ts'

/** Creates a project that stays hidden until `revealProject`. */
export const insertHiddenProject = (
  tx: Transaction,
  project: Omit<NewProject, 'hidden' | 'importer'> & { importer: string },
): Promise<number> => insertProject(tx, { ...project, hidden: true })

export const revealProject = async (tx: Transaction, id: number, organizationId: number | null): Promise<void> => {
  await tx.run('UPDATE projects SET hidden = 0, importer = NULL, organization_id = ? WHERE id = ?', [
    organizationId,
    id,
  ])
  await tx.run(
    'INSERT INTO project_visits (user_id, project_id, accepted_at) SELECT owner_id, id, ? FROM projects WHERE id = ?',
    [tx.now, id],
  )
}

/**
 * The projects of this machine with an abandoned import: one that neither this daemon nor a daemon with a recent heartbeat
 * runs.
 */
export const abandonedProjects = async (db: Reader, daemonId: string, silentMs: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT id FROM projects WHERE hidden = 1 AND host IS ?1 AND importer IS NOT ?2 AND NOT EXISTS (SELECT 1 FROM daemons d WHERE d.id = importer AND d.seen_at_ms > ${nowMs} - ?3) ORDER BY id`,
      [db.host, daemonId, silentMs],
    )
  ).map(({ id }) => id)

/** Deletes a part of a hidden project's contents. @returns the number of deleted messages or cards, or 0 if none are left */
export async function deleteSomeOfHidden(tx: Transaction, projectId: number): Promise<number> {
  const messages = await tx.run(
    'DELETE FROM transcript_messages WHERE id IN (SELECT m.id FROM agent_sessions s JOIN transcript_messages m ON m.session_id = s.id WHERE s.project_id = ? LIMIT 500)',
    [projectId],
  )
  if (messages.changes > 0) return messages.changes
  return (
    await tx.run(
      'DELETE FROM cards WHERE id IN (SELECT c.id FROM boards b JOIN cards c ON c.board_id = b.id WHERE b.project_id = ? LIMIT 200)',
      [projectId],
    )
  ).changes
}

/** Raises a project's token totals to the imported totals, if those exceed the sum of its sessions. */
export const raiseProjectTokens = async (
  tx: Transaction,
  projectId: number,
  { total, sessions }: { total: number; sessions: number },
): Promise<void> => {
  await tx.run(
    'INSERT INTO project_tokens VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET total = max(total, excluded.total), sessions = max(sessions, excluded.sessions)',
    [projectId, total, sessions],
  )
}

/** Inserts a message of one piece, JSON text. */
export async function insertImportedMessage(
  tx: Transaction,
  { sessionId, cardId, role, callId, attachments = [], at, piece }: NewMessage & { at: string; piece: string },
): Promise<number> {
  const { lastId } = await tx.run(
    'INSERT INTO transcript_messages (session_id, card_id, role, call_id, at, attachments) VALUES (?, ?, ?, ?, ?, ?)',
    [sessionId, cardId, role, callId, at, JSON.stringify(attachments)],
  )
  await tx.run('INSERT INTO transcript_pieces (message_id, number, data) VALUES (?, 1, ?)', [lastId, piece])
  return lastId
}
