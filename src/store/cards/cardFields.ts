import type { Assignee, Priority } from '../../contract/cards/cardPlan.ts'
import type { CardItem, CardSource } from '../../contract/cards/cardRecords.ts'
import type { ExternalCard } from '../../contract/server/external.ts'
import type { CardKind, CardStatus, ColumnType, ReviewState } from '../../contract/fields.ts'
import type { IssueSummary } from '../../contract/forges/issueRecords.ts'
import type { PullRequestSummary } from '../../contract/forges/pullRequestRecords.ts'
import type { InferOutput } from 'valibot'
import { agentChoiceFields } from '../agents/agentChoiceFields.ts'
import { isOwn } from '../agents/sessionPurposes.ts'
import { placeSql } from './order.ts'
import { flag, id, json, number, text } from '../engine/record.ts'

/** The statuses of a card while an agent works on it. */
export const activeStatuses: readonly CardStatus[] = ['queued', 'running', 'waiting']

/** A pipeline step as stored on a card. A step without a prompt uses the prompt of its column. */
export interface StoredStep {
  columnId: number
  prompt: string
  approval: 'auto' | 'manual'
}
/** A merge of a card's work in one of its project's repositories; `repository` is empty for the home. */
export interface RepositoryMerge {
  repository: string
  into: string
  /** The commit of `into` after the merge. */
  commit: string
  /** The card's commit that was merged. Later commits are new work. */
  head: string
  /** Whether a forge merged the work. In this case, the board does not check the target branch. */
  byForge: boolean
}
interface LastAction {
  type: string
  at: string
  detail: string | null
}

/** Created as JSON, because parsing it again would take 3% of a list's time. */
export const childrenSql = `json_object('total', c.children_total, 'done', c.children_done)`
/** IDs as on other external routes. Most cards have no assignees. */
export const externalAssigneesSql = `iif(c.assignees = '[]', json('[]'), (SELECT json_group_array(json(iif(json_extract(value, '$.userId') IS NULL, value, json_set(value, '$.userId', CAST(json_extract(value, '$.userId') AS INTEGER)))))
  FROM (SELECT value FROM json_each(c.assignees) ORDER BY key)))`
export const blockedSql = '(c.open_blockers > 0 AND c.done_at IS NULL)'
/**
 * The condition of ready cards: not blocked, the start time has come, no agent is working, and in a backlog column or idle in
 * an active column.
 */
export const readySql = `(c.open_blockers = 0 AND c.start_held = 0 AND c.archived_at IS NULL AND c.kind = 'kanban'
  AND iif(l.column_type = 'backlog', c.status <> 'queued' AND c.status <> 'running' AND c.status <> 'waiting', l.column_type = 'active' AND c.status = 'idle'))`

/**
 * The fields of a card, for a query that joins its column as `l` and its place with `placeJoins`. The schemas in src/contract
 * and, for files, in src/transfers/records.ts define which fields a view shows.
 */
export const cardFields = {
  id: id(),
  projectId: id(),
  boardId: id(),
  columnId: id(),
  /** The leaf that contains the card in its column's order. Null outside the order. */
  leafId: id().orNull(),
  columnName: text().computed('l.name'),
  columnType: text<ColumnType>().computed('l.column_type'),
  position: number().orNull().computed(placeSql),
  kind: text<CardKind>().initially('kanban'),
  groupId: text().orNull(),
  title: text(),
  prompt: text(),
  labels: json<string[]>().initially('[]'),
  /** Assignees with an account have its current name, which triggers maintain. */
  assignees: json<Assignee[]>().initially('[]'),
  priority: text<Priority>().initially('normal'),
  dueAt: text().orNull(),
  estimate: number().orNull(),
  /** Account ID -> whether the account watches the card, if it chose explicitly. */
  watchChoices: json<Record<string, boolean>>().initially('{}'),
  pipeline: json<StoredStep[]>().initially('[]'),
  status: text<CardStatus>().initially('idle'),
  statusReason: text().orNull(),
  /** The gate that the card waits for, while the reason of its status is `gate`. */
  missingGate: text().orNull(),
  unread: flag().initially(false),
  deferred: flag().initially(false),
  autoMode: flag().initially(false),
  useWorktree: flag().initially(true),
  gitBranch: text().orNull(),
  worktreePath: text().orNull(),
  /** Whether the board created the worktree. */
  worktreeManaged: flag().initially(false),
  /** The start of the card's branch until the branch exists: a branch, tag or commit, or the branch of a card. */
  base: text().orNull(),
  baseCardId: id().orNull(),
  baseCommit: text().orNull(),
  lastAgentAction: json<LastAction>().orNull(),
  /** The summary of the newest pull request in the project's home, maintained by src/store/forges/pullRequests.ts. */
  pullRequest: json<PullRequestSummary>().orNull(),
  /** The issue that the card was created from. */
  issue: json<IssueSummary>().orNull(),
  /** The entry of the file that the card was imported from. */
  source: json<CardSource>().orNull(),
  reviewState: text<ReviewState>().orNull(),
  /** The number of reviews that requested changes. */
  reviewRound: number().initially(0),
  /**
   * The time, commit and branch of the card's merge. Null unless it is merged. With several repositories, the values for the home
   * or the first one.
   */
  mergedAt: text().orNull(),
  mergedCommit: text().orNull(),
  mergedInto: text().orNull(),
  /** The card's merges, one per repository. A card with unmerged work in one of its repositories is not merged. */
  merges: json<RepositoryMerge[]>().initially('[]'),
  ...agentChoiceFields,
  command: text().orNull(),
  credentialId: id().orNull(),
  /** The account that created the card. Null for an agent, an import, and cards created before this was recorded. */
  creatorId: id().orNull(),
  /** The creator's name when the card was created. */
  creatorName: text().orNull(),
  /** Maintained by triggers, because counting while listing cards takes a fifth of a list's time. */
  attachmentCount: number().computed('c.attachment_count'),
  commentCount: number().computed('c.comment_count'),
  monitorQuestions: number().computed('c.monitor_questions'),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
  startedAt: text().orNull(),
  endedAt: text().orNull(),
  /** When the card entered a done column. Kept while the card is archived from there. */
  doneAt: text().orNull(),
  /** The number of unfinished cards that block this one. Maintained by triggers, as are the counts of its parts. */
  openBlockers: number().computed('c.open_blockers'),
  blocked: flag().computed(blockedSql),
  ready: flag().computed(readySql),
  /** The card that this card is a part of. */
  parentId: id().orNull(),
  childrenTotal: number().computed('c.children_total'),
  childrenDone: number().computed('c.children_done'),
  /** When the card starts. */
  startAt: text().orNull(),
  /** Whether the card waits for that time. A flag, because lists do not compare times. Cleared when the start is due. */
  startHeld: flag().initially(false),
  /** How often the card has gone back to its agent because gates failed, since it moved or a person continued it. */
  gateRounds: number().initially(0),
  /** The account whose permissions apply to the automatic start. */
  starterUserId: id().orNull(),
  starterKeyId: id().orNull(),
  /** The card on which this card was found. */
  discoveredFromId: id().orNull(),
  /** The full column that the card moves into when there is capacity. */
  nextColumnId: id().orNull(),
  /**
   * Whether a column can pull the card. False once a user without the right to start agents has created, moved or rewritten it.
   */
  pullable: flag().initially(true),
  archivedAt: text().orNull(),
  deletedAt: text().orNull(),
  version: number().initially(1),
}

/**
 * Computed only for lists that the database generates. In a row it costs 2 µs, because the engine builds a table of the statuses.
 */
export const cardListExtras = {
  children: json<CardProgress>().computed(childrenSql),
  hasActiveAgent: flag().computed(`(c.status IN (${activeStatuses.map(status => `'${status}'`).join(', ')}))`),
}

type CardProgress = InferOutput<typeof CardItem>['children']
type Sessions = InferOutput<typeof ExternalCard>['sessions']
type Locks = InferOutput<typeof ExternalCard>['locks']
/** Lists columns by name: a libSQL server prepares the statement each time, and with all columns, twice, a card costs an eighth more. */
const shownOfSession = 'id, agent, status, started_at, created_at, ended_at, summary'
/**
 * Read only for a single card: its open sessions as locks, its latest sessions, the cards that block it, and the cards that it blocks.
 * Sessions are listed oldest first, including queued ones.
 */
export const cardExtras = {
  locks: json<Locks>().computed(
    `(SELECT json_group_array(json_object('kind', CASE purpose WHEN 'pre' THEN 'pre-session' WHEN 'review' THEN 'review' ELSE 'agent' END, 'holder', agent, 'acquiredAt', coalesce(started_at, created_at)))
      FROM agent_sessions WHERE card_id = c.id AND ended_at IS NULL)`,
  ),
  sessions: json<Sessions>().computed(
    `(SELECT json_group_array(json_object('id', id, 'agent', agent, 'status', status, 'startedAt', coalesce(started_at, created_at), 'endedAt', ended_at, 'summary', summary))
      FROM (SELECT ${shownOfSession} FROM (SELECT ${shownOfSession} FROM agent_sessions WHERE card_id = c.id AND ${isOwn('purpose')} ORDER BY id DESC LIMIT 50) ORDER BY id))`,
  ),
  blockedBy: json<number[]>().computed(
    '(SELECT json_group_array(blocker_id) FROM (SELECT blocker_id FROM card_blockers WHERE card_id = c.id ORDER BY blocker_id))',
  ),
  blocks: json<number[]>().computed(
    `(SELECT json_group_array(card_id) FROM (SELECT d.card_id FROM card_blockers d JOIN cards w ON w.id = d.card_id
      WHERE d.blocker_id = c.id AND w.deleted_at IS NULL ORDER BY d.card_id))`,
  ),
}
