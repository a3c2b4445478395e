import type { ExternalCard } from '../contract/external.ts'
import type { CardKind, CardStatus, ColumnType, ReviewState } from '../contract/fields.ts'
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
interface LastAction {
  type: string
  at: string
  detail: string | null
}

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
  baseCommit: text().orNull(),
  lastAgentAction: json<LastAction>().orNull(),
  reviewState: text<ReviewState>().orNull(),
  /** How many reviews asked for changes. */
  reviewRound: number().initially(0),
  ...agentChoiceFields,
  command: text().orNull(),
  credentialId: id().orNull(),
  /** The account that made it; null for an agent, an import, and before this was kept. */
  creatorId: id().orNull(),
  /** What it was called then. */
  creatorName: text().orNull(),
  /** Kept by triggers: counting as cards are listed takes a fifth of a list's time. */
  attachmentCount: number().computed('c.attachment_count'),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
  startedAt: text().orNull(),
  endedAt: text().orNull(),
  archivedAt: text().orNull(),
  deletedAt: text().orNull(),
  version: number().initially(1),
}

/**
 * Computed only for lists made by the database: in a row it costs 2 µs, because the engine makes a table of the
 * statuses.
 */
export const cardListExtras = {
  hasActiveAgent: flag().computed(`(c.status IN (${activeStatuses.map(status => `'${status}'`).join(', ')}))`),
}

type Sessions = InferOutput<typeof ExternalCard>['sessions']
type Locks = InferOutput<typeof ExternalCard>['locks']
/**
 * Only read for a single card: its open sessions as locks, and its latest sessions, oldest first. A queued session has
 * not begun.
 */
export const cardExtras = {
  locks: json<Locks>().computed(
    `(SELECT json_group_array(json_object('kind', iif(purpose = 'pre', 'pre-session', 'agent'), 'holder', agent, 'acquiredAt', coalesce(started_at, created_at)))
      FROM agent_sessions WHERE card_id = c.id AND ended_at IS NULL)`,
  ),
  sessions: json<Sessions>().computed(
    `(SELECT json_group_array(json_object('id', id, 'agent', agent, 'status', status, 'startedAt', coalesce(started_at, created_at), 'endedAt', ended_at, 'summary', summary))
      FROM (SELECT * FROM (SELECT * FROM agent_sessions WHERE card_id = c.id AND purpose <> 'pre' ORDER BY id DESC LIMIT 50) ORDER BY id))`,
  ),
}
