import type { Assignee, Priority } from '../contract/cardPlan.ts'
import type { CardItem, CardSource } from '../contract/cardRecords.ts'
import type { ExternalCard } from '../contract/external.ts'
import type { CardKind, CardStatus, ColumnType, ReviewState } from '../contract/fields.ts'
import type { IssueSummary } from '../contract/issueRecords.ts'
import type { PullRequestSummary } from '../contract/pullRequestRecords.ts'
import type { InferOutput } from 'valibot'
import { agentChoiceFields } from './agentChoiceFields.ts'
import { placeSql } from './order.ts'
import { flag, id, json, number, text } from './record.ts'

/** The statuses of a card while an agent works on it. */
export const activeStatuses: readonly CardStatus[] = ['queued', 'running', 'waiting']

/** A pipeline step as stored on a card. Without a prompt it uses its column's. */
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
  /** Whether a forge merged it: the board does not check its branch there. */
  byForge: boolean
}
interface LastAction {
  type: string
  at: string
  detail: string | null
}

/** Made as JSON: to parse it once more would take 3 % of a list's time. */
export const childrenSql = `json_object('total', c.children_total, 'done', c.children_done)`
/** The same ids as on other external routes; most cards have none. */
export const externalAssigneesSql = `iif(c.assignees = '[]', json('[]'), (SELECT json_group_array(json(iif(json_extract(value, '$.userId') IS NULL, value, json_set(value, '$.userId', CAST(json_extract(value, '$.userId') AS INTEGER)))))
  FROM (SELECT value FROM json_each(c.assignees) ORDER BY key)))`
export const blockedSql = '(c.open_blockers > 0 AND c.done_at IS NULL)'
/** Nothing blocks it, the time of its start has come, no agent is at work, and it is in a backlog column or idle in an active one. */
export const readySql = `(c.open_blockers = 0 AND c.start_held = 0 AND c.archived_at IS NULL AND c.kind = 'kanban'
  AND iif(l.column_type = 'backlog', c.status <> 'queued' AND c.status <> 'running' AND c.status <> 'waiting', l.column_type = 'active' AND c.status = 'idle'))`

/**
 * The fields of a card, for a query that joins its column as `l` and its place by `placeJoins`. Which of them a view
 * shows is defined by the schemas of src/contract and, for files, of src/transfers/records.ts.
 */
export const cardFields = {
  id: id(),
  projectId: id(),
  boardId: id(),
  columnId: id(),
  /** The leaf of its column's order that holds it; null outside the order. */
  leafId: id().orNull().column('chunk_id'),
  columnName: text().computed('l.name'),
  columnType: text<ColumnType>().computed('l.column_type'),
  position: number().orNull().computed(placeSql),
  kind: text<CardKind>().initially('kanban'),
  groupId: text().orNull(),
  title: text(),
  prompt: text(),
  labels: json<string[]>().initially('[]'),
  /** Those with an account have its present name: triggers keep it. */
  assignees: json<Assignee[]>().initially('[]'),
  priority: text<Priority>().initially('normal'),
  dueAt: text().orNull(),
  estimate: number().orNull(),
  /** Account id -> whether it watches the card, where it said so. */
  watchChoices: json<Record<string, boolean>>().initially('{}'),
  pipeline: json<StoredStep[]>().initially('[]'),
  status: text<CardStatus>().initially('idle'),
  statusReason: text().orNull(),
  unread: flag().initially(false),
  deferred: flag().initially(false),
  autoMode: flag().initially(false),
  useWorktree: flag().initially(true),
  gitBranch: text().orNull(),
  worktreePath: text().orNull(),
  /** Whether the board made the worktree. */
  worktreeManaged: flag().initially(false),
  /** What its branch starts at, until there is one: a branch, tag or commit, or the branch of a card. */
  base: text().orNull(),
  baseCardId: id().orNull(),
  baseCommit: text().orNull(),
  lastAgentAction: json<LastAction>().orNull(),
  /** Of its newest pull request in the project's home; src/store/pullRequests.ts keeps it. */
  pullRequest: json<PullRequestSummary>().orNull(),
  /** The issue that it was made from. */
  issue: json<IssueSummary>().orNull(),
  /** The entry of a file that it was imported from. */
  source: json<CardSource>().orNull(),
  reviewState: text<ReviewState>().orNull(),
  /** How many reviews asked for changes. */
  reviewRound: number().initially(0),
  /** The time, commit and branch of its merge; null unless it is merged. Of several repositories, those of the home or the first one. */
  mergedAt: text().orNull(),
  mergedCommit: text().orNull(),
  mergedInto: text().orNull(),
  /** Its merges, one per repository. If only some of its repositories are merged, the card is not. */
  merges: json<RepositoryMerge[]>().initially('[]'),
  ...agentChoiceFields,
  command: text().orNull(),
  credentialId: id().orNull(),
  /** The account that made it; null for an agent, an import, and before this was kept. */
  creatorId: id().orNull(),
  /** What it was called then. */
  creatorName: text().orNull(),
  /** Kept by triggers: counting as cards are listed takes a fifth of a list's time. */
  attachmentCount: number().computed('c.attachment_count'),
  commentCount: number().computed('c.comment_count'),
  monitorQuestions: number().computed('c.monitor_questions'),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
  startedAt: text().orNull(),
  endedAt: text().orNull(),
  /** When it came into a column of done cards; kept while it is archived from there. */
  doneAt: text().orNull(),
  /** Of the cards that it waits for, how many are not done; kept by triggers, as are the counts of its parts. */
  openBlockers: number().computed('c.open_blockers'),
  blocked: flag().computed(blockedSql),
  ready: flag().computed(readySql),
  /** The card that it is a part of. */
  parentId: id().orNull(),
  childrenTotal: number().computed('c.children_total'),
  childrenDone: number().computed('c.children_done'),
  /** When it starts. */
  startAt: text().orNull(),
  /** Whether it waits for that time. A flag, for lists know no time; what is due by time takes it away. */
  startHeld: flag().initially(false),
  /** Whose rights its start by itself has. */
  starterUserId: id().orNull(),
  starterKeyId: id().orNull(),
  /** The card on which it was found. */
  discoveredFromId: id().orNull(),
  /** The full column into which it goes on when there is room. */
  nextColumnId: id().orNull(),
  /** Whether a column may pull it: not once somebody who may not start agents has made, moved or rewritten it. */
  pullable: flag().initially(true),
  archivedAt: text().orNull(),
  deletedAt: text().orNull(),
  version: number().initially(1),
}

/**
 * Computed only for lists made by the database: in a row it costs 2 µs, because the engine makes a table of the
 * statuses.
 */
export const cardListExtras = {
  children: json<CardProgress>().computed(childrenSql),
  hasActiveAgent: flag().computed(`(c.status IN (${activeStatuses.map(status => `'${status}'`).join(', ')}))`),
}

type CardProgress = InferOutput<typeof CardItem>['children']
type Sessions = InferOutput<typeof ExternalCard>['sessions']
type Locks = InferOutput<typeof ExternalCard>['locks']
/** Named: with all columns, twice, a card costs a libSQL server an eighth more, which prepares the statement anew each time. */
const shownOfSession = 'id, agent, status, started_at, created_at, ended_at, summary'
/**
 * Only read for a single card: its open sessions as locks, and its latest sessions, oldest first, of which a queued one
 * has not begun; the cards that it waits for, and those that wait for it.
 */
export const cardExtras = {
  locks: json<Locks>().computed(
    `(SELECT json_group_array(json_object('kind', iif(purpose = 'pre', 'pre-session', 'agent'), 'holder', agent, 'acquiredAt', coalesce(started_at, created_at)))
      FROM agent_sessions WHERE card_id = c.id AND ended_at IS NULL)`,
  ),
  sessions: json<Sessions>().computed(
    `(SELECT json_group_array(json_object('id', id, 'agent', agent, 'status', status, 'startedAt', coalesce(started_at, created_at), 'endedAt', ended_at, 'summary', summary))
      FROM (SELECT ${shownOfSession} FROM (SELECT ${shownOfSession} FROM agent_sessions WHERE card_id = c.id AND purpose <> 'pre' ORDER BY id DESC LIMIT 50) ORDER BY id))`,
  ),
  blockedBy: json<number[]>().computed(
    '(SELECT json_group_array(blocker_id) FROM (SELECT blocker_id FROM card_blockers WHERE card_id = c.id ORDER BY blocker_id))',
  ),
  blocks: json<number[]>().computed(
    `(SELECT json_group_array(card_id) FROM (SELECT d.card_id FROM card_blockers d JOIN cards w ON w.id = d.card_id
      WHERE d.blocker_id = c.id AND w.deleted_at IS NULL ORDER BY d.card_id))`,
  ),
}
