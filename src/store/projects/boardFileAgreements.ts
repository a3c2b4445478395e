import type { Reader, Transaction } from '../engine/database.ts'

/** A member's agreement to a version of a project's board.json. */
export interface Agreement {
  version: string
  /** The member's name; empty without an account. */
  agreedBy: string
  createdAt: string
  /** 1 if board.json has had another version since the agreement. */
  lapsed: 0 | 1
}

/** A project's agreements, one per version. At most one has not lapsed. */
export const listAgreements = (db: Reader, projectId: number): Promise<Agreement[]> =>
  db.all(
    'SELECT version, agreed_by AS agreedBy, created_at AS createdAt, lapsed FROM board_file_agreements WHERE project_id = ? ORDER BY version',
    [projectId],
  )

/**
 * Stores the agreement to a project's current version, and ends the agreements to other versions. The first agreement stays until it
 * lapses.
 */
export const insertAgreement = async (
  tx: Transaction,
  projectId: number,
  { version, agreedBy }: Pick<Agreement, 'version' | 'agreedBy'>,
): Promise<void> => {
  await tx.run('UPDATE board_file_agreements SET lapsed = 1 WHERE project_id = ? AND version <> ?', [
    projectId,
    version,
  ])
  await tx.run(
    `INSERT INTO board_file_agreements (project_id, version, agreed_by, created_at) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET agreed_by = excluded.agreed_by, created_at = excluded.created_at, lapsed = 0 WHERE lapsed = 1`,
    [projectId, version, agreedBy, tx.now],
  )
}

/** Ends the agreement to a version that is no longer current. */
export const lapseAgreement = async (tx: Transaction, projectId: number, version: string): Promise<void> => {
  await tx.run('UPDATE board_file_agreements SET lapsed = 1 WHERE project_id = ? AND version = ?', [projectId, version])
}

export const deleteAgreements = async (tx: Transaction, projectId: number): Promise<void> => {
  await tx.run('DELETE FROM board_file_agreements WHERE project_id = ?', [projectId])
}
