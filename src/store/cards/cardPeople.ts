import type { Reader, Transaction } from '../engine/database.ts'
import { localOperator, localOperatorName } from '../accounts/users.ts'

/** A person whom a project's cards can be assigned to. */
export interface PersonRow {
  userId: number
  displayName: string
}

/** SQL of the accounts that belong to the project ?1: its owner, its members, and the members of its organization. */
const belonging = `SELECT owner_id AS id FROM projects WHERE id = ?1 UNION SELECT user_id FROM project_members WHERE project_id = ?1
  UNION SELECT o.user_id FROM organization_members o JOIN projects p ON p.organization_id = o.organization_id WHERE p.id = ?1`

/** SQL of people of the project. Before the first account exists, the local operator owns each project. */
const people = `SELECT b.id AS userId, coalesce(u.display_name, '${localOperatorName}') AS displayName
  FROM (${belonging}) b LEFT JOIN users u ON u.id = b.id WHERE (u.id IS NOT NULL OR b.id = ${localOperator})`

/** All accounts that belong to a project, by name. */
export const listPeople = (db: Reader, projectId: number): Promise<PersonRow[]> =>
  db.all(`${people} ORDER BY displayName COLLATE NOCASE, userId`, [projectId])

/** The given accounts that belong to a project. */
export const listPeopleOf = (db: Reader, projectId: number, userIds: readonly number[]): Promise<PersonRow[]> =>
  db.all(`${people} AND b.id IN (SELECT value FROM json_each(?2))`, [projectId, JSON.stringify(userIds)])

/**
 * Sets whether an account watches a card. Null restores the default, which depends on the account's role on the card. Version and
 * time are unchanged.
 */
export const setWatching = (tx: Transaction, cardId: number, userId: number, watching: boolean | null): void =>
  watching === null
    ? tx.enqueue('UPDATE cards SET watch_choices = json_remove(watch_choices, ?) WHERE id = ?', [
        pathOf(userId),
        cardId,
      ])
    : tx.enqueue('UPDATE cards SET watch_choices = json_set(watch_choices, ?, json(?)) WHERE id = ?', [
        pathOf(userId),
        String(watching),
        cardId,
      ])
const pathOf = (userId: number) => `$."${userId}"`
