import type { IssueState, IssueSummary } from '../../contract/forges/issueRecords.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, flag, id, number, text, type Change, type NewRow, type Row } from '../engine/record.ts'

/** A time at which any issue is due. */
const atOnce = '1970-01-01T00:00:00.000Z'

/** See issues/decideIssuePhase.ts. */
export type IssuePhase = 'open' | 'closing' | 'closedByBoard' | 'reopening' | 'closedElsewhere' | 'missing'

/** The issue's state on the forge when the board last read it. */
export const issueStateOf = ({ phase }: { phase: IssuePhase }): IssueState =>
  phase === 'missing' ? phase : phase === 'open' || phase === 'closing' ? 'open' : 'closed'

/** An issue that became a card. The row stays when its card is purged, so that the issue does not become another card. */
export const cardIssueFields = {
  id: id(),
  projectId: id(),
  cardId: id().orNull(),
  /** The repository. Issue numbers are unique per repository. */
  forge: text(),
  number: number(),
  url: text(),
  /** The title and prompt that the board last wrote from the issue, to detect later changes on the board. */
  title: text(),
  promptDigest: text(),
  phase: text<IssuePhase>(),
  /** By the forge's clock, as of the last import. */
  changedAt: text(),
  /** When the board first saw that change, by the board's clock. */
  seenAt: text().initiallyNow(),
  /** Whether the card was done, and the number of its merged pull request, at the last comparison. */
  done: flag().initially(false),
  merged: number().orNull(),
  /** Included in the comment that explains why the board closes the issue. */
  token: text().orNull(),
  /** Comments on the card after this time are copied to the issue. */
  commentsFrom: text().orNull(),
  /** Whether the current comments on the issue are known on the card, because the card was imported with them. */
  passesComments: flag().initially(false),
  /** Incremented by triggers on each change of the card and its comments. */
  changes: number().initially(0),
  dueAt: text().orNull(),
  failures: number().initially(0),
  problem: text().orNull(),
}
export type CardIssueRow = Row<typeof cardIssueFields>
export type NewCardIssue = NewRow<typeof cardIssueFields>
export type CardIssueChange = Omit<Change<typeof cardIssueFields>, 'projectId' | 'number' | 'changes'>

const record = defineRecord('card_issues', 'i', cardIssueFields)
const select = `SELECT ${record.columns} FROM card_issues i`

export const readCardIssue = (
  db: Reader,
  projectId: number,
  forge: string,
  number: number,
): Promise<CardIssueRow | undefined> =>
  db.get(`${select} WHERE i.project_id = ? AND i.forge = ? AND i.number = ?`, [projectId, forge, number])
export const readCardIssueById = (db: Reader, id: number): Promise<CardIssueRow | undefined> =>
  db.get(`${select} WHERE i.id = ?`, [id])

export const insertCardIssue = (tx: Transaction, issue: NewCardIssue): Promise<number> => record.insert(tx, issue)
export const updateCardIssue = (tx: Transaction, id: number, change: CardIssueChange): void => {
  if (Object.keys(change).length > 0) record.update(tx, id, change)
}

/** Issues of a repository that are due to be compared with their existing cards, the longest waiting first. */
export const listDueIssues = (
  db: Reader,
  { projectId, forge, now, limit }: { projectId: number; forge: string; now: string; limit: number },
): Promise<CardIssueRow[]> =>
  db.all(
    `${select} JOIN cards c ON c.id = i.card_id AND c.deleted_at IS NULL
     WHERE i.project_id = ? AND i.forge = ? AND i.due_at <= ? ORDER BY i.due_at, i.id LIMIT ?`,
    [projectId, forge, now, limit],
  )

/** A project's issues with an ID above `after`, oldest first, with the titles of their cards. */
export const listCardIssues = (
  db: Reader,
  projectId: number,
  { after = 0, limit }: { after?: number; limit: number },
): Promise<CardIssueRow[]> =>
  db.all(
    `${select} JOIN cards c ON c.id = i.card_id AND c.deleted_at IS NULL
     WHERE i.project_id = ? AND i.id > ? ORDER BY i.id LIMIT ?`,
    [projectId, after, limit],
  )

/** Makes the comparison of an issue with its card due now. @returns whether the issue has a card in the project */
export const hastenIssue = async (tx: Transaction, projectId: number, number: number): Promise<boolean> =>
  (
    await tx.run('UPDATE card_issues SET due_at = ?, failures = 0 WHERE project_id = ? AND number = ?', [
      atOnce,
      projectId,
      number,
    ])
  ).changes > 0

/** Copies the comments on a project's cards to their issues from now on. Earlier comments were not written for the issues. */
export const startComments = (tx: Transaction, projectId: number): void =>
  tx.enqueue('UPDATE card_issues SET comments_from = ?, due_at = ? WHERE project_id = ?', [tx.now, atOnce, projectId])

/** Shows an issue on a card that is being created. */
export const showCardIssue = (tx: Transaction, cardId: number, { number, url, state }: IssueSummary): void =>
  tx.enqueue('UPDATE cards SET issue = ? WHERE id = ?', [JSON.stringify({ number, url, state }), cardId])

/** The issues of cards for an export, as JSON. */
export const exportIssues = (db: Reader, cardIds: readonly number[]): Promise<Array<{ json: string }>> =>
  db.all(
    `SELECT json_set(${record.jsonOf(['cardId', 'forge', 'number', 'url', 'title', 'promptDigest', 'changedAt'], 'integer')},
       '$.state', CASE i.phase WHEN 'missing' THEN 'missing' WHEN 'open' THEN 'open' WHEN 'closing' THEN 'open' ELSE 'closed' END,
       '$.closedByBoard', json(iif(i.phase IN ('closedByBoard', 'reopening'), 'true', 'false'))) AS json
     FROM json_each(?) j JOIN card_issues i ON i.card_id = j.value ORDER BY j.key`,
    [JSON.stringify(cardIds)],
  )

/** A comment that exists on both sides. The row stays when one of them is deleted, so that the comment is not copied again. */
export const issueCommentFields = {
  id: id(),
  issueId: id(),
  commentId: id().orNull(),
  forgeId: text().orNull(),
  /** The side on which the comment was written. It can be changed and deleted only there. */
  writtenAt: text<'board' | 'forge'>(),
  /** The digest of the text that was last copied to the other side. */
  digest: text(),
  /** Included in the comment that the board wrote, to find the comment if its ID is unknown. */
  token: text().orNull(),
  /** Whether it was deleted on the other side. */
  gone: flag().initially(false),
}
export type IssueCommentRow = Row<typeof issueCommentFields>
const comment = defineRecord('issue_comments', 'k', issueCommentFields)

export const listIssueComments = (db: Reader, issueId: number): Promise<IssueCommentRow[]> =>
  db.all(`SELECT ${comment.columns} FROM issue_comments k WHERE k.issue_id = ? ORDER BY k.id`, [issueId])
export const insertIssueComment = (tx: Transaction, row: NewRow<typeof issueCommentFields>): Promise<number> =>
  comment.insert(tx, row)
export const updateIssueComment = (tx: Transaction, id: number, change: Change<typeof issueCommentFields>): void =>
  comment.update(tx, id, change)

/** The progress of a project's import of issues from its forge. */
const syncFields = {
  id: id(),
  projectId: id(),
  /** The repository and the label. If they change, the import starts over. */
  source: text(),
  /** The newest imported change, by the forge's clock. */
  since: text().orNull(),
  /** Whether comments were copied in both directions. */
  comments: flag().initially(false),
  failures: number().initially(0),
  /** The number of consecutive checks without changes. */
  quiet: number().initially(0),
  /** Null means now. */
  nextAt: text().orNull(),
  syncedAt: text().orNull(),
  problem: text().orNull(),
}
export type SyncRow = Row<typeof syncFields>
type SyncChange = Omit<Change<typeof syncFields>, 'projectId'>
const sync = defineRecord('issue_syncs', 'y', syncFields)

export const readSyncState = (db: Reader, projectId: number): Promise<SyncRow | undefined> =>
  db.get(`SELECT ${sync.columns} FROM issue_syncs y WHERE y.project_id = ?`, [projectId])

/** Changes a project's import progress, which might not exist yet. */
export async function writeSyncState(tx: Transaction, projectId: number, change: SyncChange): Promise<void> {
  const known = await readSyncState(tx, projectId)
  if (known) sync.update(tx, known.id, change)
  else await sync.insert(tx, { source: '', ...change, projectId })
}

// Only projects of this machine, because the forge is read from the remote in the project's folder.
const syncedProjects = `FROM projects p LEFT JOIN issue_syncs y ON y.project_id = p.id
  LEFT JOIN (SELECT i.project_id, min(i.due_at) AS due_at FROM card_issues i CROSS JOIN cards c ON c.id = i.card_id AND c.deleted_at IS NULL
    WHERE i.due_at IS NOT NULL GROUP BY i.project_id) d ON d.project_id = p.id
  WHERE p.host IS ? AND p.hidden = 0 AND json_extract(p.forge, '$.issueLabel') IS NOT NULL`
// After a failure, all work waits for the retry. Otherwise, the earliest time applies.
const dueAt = `iif(y.failures > 0, coalesce(y.next_at, '${atOnce}'), min(coalesce(y.next_at, '${atOnce}'), coalesce(d.due_at, '9')))`

/** When the next project of this machine is due, except for the projects in progress. Null if no project has issues to sync. */
export const readNextSyncTime = async (db: Reader, without: readonly number[]): Promise<string | null> =>
  (await db.get<{ at: string | null }>(
    `SELECT min(${dueAt}) AS at ${syncedProjects} AND p.id NOT IN (SELECT value FROM json_each(?))`,
    [db.host, JSON.stringify(without)],
  ))!.at

/** The projects of this machine whose issues are due, except for the projects in progress. */
export const listDueSyncs = async (db: Reader, now: string, without: readonly number[]): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT p.id ${syncedProjects} AND ${dueAt} <= ? AND p.id NOT IN (SELECT value FROM json_each(?)) ORDER BY p.id`,
      [db.host, now, JSON.stringify(without)],
    )
  ).map(({ id }) => id)
