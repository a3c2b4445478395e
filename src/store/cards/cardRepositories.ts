import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, id, text, type Row } from '../engine/record.ts'

const fields = {
  cardId: id(),
  name: text(),
  /** The repository's folder when the worktree was planned. */
  path: text(),
  branch: text(),
  baseCommit: text(),
  /** Null once the worktree is removed. */
  worktreePath: text().orNull(),
}
/** The worktree of a card in one of the project's other repositories. */
export type CardRepositoryRow = Row<typeof fields>
const record = defineRecord('card_repositories', 'k', fields)

/** Lists a card's worktrees in other repositories by name, including repositories that the project no longer has. */
export const listCardRepositories = (db: Reader, cardId: number): Promise<CardRepositoryRow[]> =>
  db.all(`SELECT ${record.columns} FROM card_repositories k WHERE k.card_id = ? ORDER BY k.name`, [cardId])

export const readCardRepository = (db: Reader, cardId: number, name: string): Promise<CardRepositoryRow | undefined> =>
  db.get(`SELECT ${record.columns} FROM card_repositories k WHERE k.card_id = ? AND k.name = ?`, [cardId, name])

/** Writes the row of a card for a repository. @returns whether the card exists */
export const putCardRepository = async (tx: Transaction, row: CardRepositoryRow): Promise<boolean> =>
  (
    await tx.run(
      `INSERT INTO card_repositories (card_id, name, path, branch, base_commit, worktree_path)
       SELECT id, ?2, ?3, ?4, ?5, ?6 FROM cards WHERE id = ?1
       ON CONFLICT DO UPDATE SET path = excluded.path, branch = excluded.branch, base_commit = excluded.base_commit, worktree_path = excluded.worktree_path`,
      [row.cardId, row.name, row.path, row.branch, row.baseCommit, row.worktreePath],
    )
  ).changes > 0

export const deleteCardRepository = async (tx: Transaction, cardId: number, name: string): Promise<void> => {
  await tx.run('DELETE FROM card_repositories WHERE card_id = ? AND name = ?', [cardId, name])
}
