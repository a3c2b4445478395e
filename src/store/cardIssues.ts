import type { IssueState, IssueSummary } from '../contract/issueRecords.ts'
import type { Reader, Transaction } from './database.ts'
import { defineRecord, flag, id, number, text, type Change, type NewRow, type Row } from './record.ts'

/** A time at which whatever has it is due. */
const atOnce = '1970-01-01T00:00:00.000Z'

/** An issue that became a card. It stays when its card is gone for good, so that the issue does not become another one. */
export const cardIssueFields = {
  id: id(),
  projectId: id(),
  cardId: id().orNull(),
  /** The repository: numbers are those of one. */
  forge: text(),
  number: number(),
  url: text(),
  /** What the card's title and prompt were last made to be, to tell what was changed on the board. */
  title: text(),
  promptDigest: text(),
  state: text<IssueState>(),
  /** By the forge's clock, as it was last taken in. */
  changedAt: text(),
  /** When the board saw that change first, by its own clock. */
  seenAt: text().initiallyNow(),
  /** Whether the card was done, and the number of its merged request, when it was last compared. */
  done: flag().initially(false),
  merged: number().orNull(),
  /** What the forge still has to be told. */
  wants: text<'open' | 'closed'>().orNull(),
  /** Stands in the comment that says why the board closes it. */
  token: text().orNull(),
  closedByBoard: flag().initially(false),
  /** Comments on the card from then on go to the issue. */
  commentsFrom: text().orNull(),
  /** Whether the comments that are on the issue now are known on the card: it came with an import. */
  passesComments: flag().initially(false),
  /** Raised by triggers with each change of the card and its comments. */
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

/** Issues of a repository that are to be compared with their cards, which are there; those that wait longest first. */
export const listDueIssues = (
  db: Reader,
  { projectId, forge, now, limit }: { projectId: number; forge: string; now: string; limit: number },
): Promise<CardIssueRow[]> =>
  db.all(
    `${select} JOIN cards c ON c.id = i.card_id AND c.deleted_at IS NULL
     WHERE i.project_id = ? AND i.forge = ? AND i.due_at <= ? ORDER BY i.due_at, i.id LIMIT ?`,
    [projectId, forge, now, limit],
  )

/** A project's issues with an id above `after`, oldest first, with the titles of their cards. */
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

/** Has an issue of a project compared with its card now. @returns whether it is a card */
export const hastenIssue = async (tx: Transaction, projectId: number, number: number): Promise<boolean> =>
  (
    await tx.run('UPDATE card_issues SET due_at = ?, failures = 0 WHERE project_id = ? AND number = ?', [
      atOnce,
      projectId,
      number,
    ])
  ).changes > 0

/** Has the comments of a project's cards go to their issues from now on: what was said before was not meant for them. */
export const startComments = (tx: Transaction, projectId: number): void =>
  tx.enqueue('UPDATE card_issues SET comments_from = ?, due_at = ? WHERE project_id = ?', [tx.now, atOnce, projectId])

/** Shows an issue on a card that is just being made. */
export const showCardIssue = (tx: Transaction, cardId: number, { number, url, state }: IssueSummary): void =>
  tx.enqueue('UPDATE cards SET issue = ? WHERE id = ?', [JSON.stringify({ number, url, state }), cardId])

/** The issues of cards for an export, as JSON. */
export const exportIssues = (db: Reader, cardIds: readonly number[]): Promise<Array<{ json: string }>> =>
  db.all(
    `SELECT ${record.jsonOf(['cardId', 'forge', 'number', 'url', 'title', 'promptDigest', 'state', 'changedAt', 'closedByBoard'], 'integer')} AS json
     FROM json_each(?) j JOIN card_issues i ON i.card_id = j.value ORDER BY j.key`,
    [JSON.stringify(cardIds)],
  )

/** A comment that is on both sides. It stays when one of them is deleted, so that it does not come back. */
export const issueCommentFields = {
  id: id(),
  issueId: id(),
  commentId: id().orNull(),
  forgeId: text().orNull(),
  /** On which side it was written: there it is changed and deleted. */
  writtenAt: text<'board' | 'forge'>(),
  /** Of the text that was last brought to the other side. */
  digest: text(),
  /** Stands in what the board wrote, to find it when its id is not known. */
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

/** How far a project has looked at its forge's issues. */
const syncFields = {
  id: id(),
  projectId: id(),
  /** The repository and the label: with another one all is looked at from the beginning. */
  source: text(),
  /** The newest change that was taken in, by the forge's clock. */
  since: text().orNull(),
  /** Whether comments went both ways. */
  comments: flag().initially(false),
  failures: number().initially(0),
  /** How often there was nothing new, in a row. */
  quiet: number().initially(0),
  /** Null: now. */
  nextAt: text().orNull(),
  syncedAt: text().orNull(),
  problem: text().orNull(),
}
export type SyncRow = Row<typeof syncFields>
type SyncChange = Omit<Change<typeof syncFields>, 'projectId'>
const sync = defineRecord('issue_syncs', 'y', syncFields)

export const readSyncState = (db: Reader, projectId: number): Promise<SyncRow | undefined> =>
  db.get(`SELECT ${sync.columns} FROM issue_syncs y WHERE y.project_id = ?`, [projectId])

/** Changes how far a project has looked, which may be not at all yet. */
export async function writeSyncState(tx: Transaction, projectId: number, change: SyncChange): Promise<void> {
  const known = await readSyncState(tx, projectId)
  if (known) sync.update(tx, known.id, change)
  else await sync.insert(tx, { source: '', ...change, projectId })
}

// Of this machine: only there is the folder whose remote says where the forge is.
const tied = `FROM projects p LEFT JOIN issue_syncs y ON y.project_id = p.id
  LEFT JOIN (SELECT i.project_id, min(i.due_at) AS due_at FROM card_issues i CROSS JOIN cards c ON c.id = i.card_id AND c.deleted_at IS NULL
    WHERE i.due_at IS NOT NULL GROUP BY i.project_id) d ON d.project_id = p.id
  WHERE p.host IS ? AND p.hidden = 0 AND json_extract(p.forge, '$.issueLabel') IS NOT NULL`
// After a failure everything waits, else whatever comes first.
const dueAt = `iif(y.failures > 0, coalesce(y.next_at, '${atOnce}'), min(coalesce(y.next_at, '${atOnce}'), coalesce(d.due_at, '9')))`

/** When the next project of this machine is due, but those that are being visited; null if none is tied to issues. */
export const readNextSyncTime = async (db: Reader, visited: readonly number[]): Promise<string | null> =>
  (await db.get<{ at: string | null }>(
    `SELECT min(${dueAt}) AS at ${tied} AND p.id NOT IN (SELECT value FROM json_each(?))`,
    [db.host, JSON.stringify(visited)],
  ))!.at

/** The projects of this machine whose issues are due. */
export const listDueSyncs = async (db: Reader, now: string): Promise<number[]> =>
  (await db.all<{ id: number }>(`SELECT p.id ${tied} AND ${dueAt} <= ? ORDER BY p.id`, [db.host, now])).map(
    ({ id }) => id,
  )
