import type { Reader, Transaction } from './database.ts'

/** That a member has agreed to a version of a project's board.json. */
export interface Agreement {
  version: string
  /** The member's name; empty without an account. */
  agreedBy: string
  createdAt: string
}

export const readAgreement = (db: Reader, projectId: number, version: string): Promise<Agreement | undefined> =>
  db.get(
    'SELECT version, agreed_by AS agreedBy, created_at AS createdAt FROM board_file_agreements WHERE project_id = ? AND version = ?',
    [projectId, version],
  )

/** The versions that a member has agreed to. */
export const listAgreedVersions = async (db: Reader, projectId: number): Promise<string[]> =>
  (
    await db.all<{ version: string }>(
      'SELECT version FROM board_file_agreements WHERE project_id = ? ORDER BY version',
      [projectId],
    )
  ).map(({ version }) => version)

/** The first agreement to a version stays. */
export const insertAgreement = async (
  tx: Transaction,
  projectId: number,
  { version, agreedBy }: Omit<Agreement, 'createdAt'>,
): Promise<void> => {
  await tx.run(
    'INSERT OR IGNORE INTO board_file_agreements (project_id, version, agreed_by, created_at) VALUES (?, ?, ?, ?)',
    [projectId, version, agreedBy, tx.now],
  )
}

export const deleteAgreements = async (tx: Transaction, projectId: number): Promise<void> => {
  await tx.run('DELETE FROM board_file_agreements WHERE project_id = ?', [projectId])
}
