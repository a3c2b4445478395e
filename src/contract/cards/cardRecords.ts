import * as v from 'valibot'
import { AgentChoice } from '../agents/agentChoice.ts'
import { ShownPlan } from './cardPlan.ts'
import {
  AccountId,
  CardKind,
  CardStatus,
  ColumnType,
  Count,
  Id,
  Labels,
  Position,
  Prompt,
  ReviewState,
  Time,
  Title,
} from '../fields.ts'
import { IssueSummary } from '../forges/issueRecords.ts'
import { PullRequestSummary } from '../forges/pullRequestRecords.ts'

/** A deleted card, until it is purged. */
export const DeletedCard = v.object({
  id: Id,
  title: Title,
  boardId: Id,
  columnId: Id,
  columnName: v.string(),
  deletedAt: Time,
  restorableUntil: Time,
})

/** The type of a last action which states that a card's work is already in its base, so that its worktree is no longer needed. */
export const landedAction = 'landed'
export const LastAction = v.nullable(v.object({ type: v.string(), at: Time, detail: v.nullable(v.string()) }))
export const Lock = v.object({ kind: v.string(), holder: v.string(), acquiredAt: Time })

/**
 * The merge of a card's work. All fields are null unless the work is merged: new work after a merge, or a branch that lost it,
 * resets them.
 */
export const Merge = {
  mergedAt: v.nullable(Time),
  mergedCommit: v.nullable(v.string()),
  /** The target branch. */
  mergedInto: v.nullable(v.string()),
}

/** The entry of another program's file that a card was imported from. `id` is unique within its `kind` and a project. */
export const CardSource = v.object({
  kind: v.picklist(['trello', 'github', 'markdown']),
  id: v.string(),
  url: v.nullable(v.string()),
})
export type CardSource = v.InferOutput<typeof CardSource>

/** A card as lists show it. */
export const CardItem = v.object({
  id: Id,
  projectId: Id,
  boardId: Id,
  columnId: Id,
  columnName: v.string(),
  groupId: v.nullable(v.string()),
  title: Title,
  labels: Labels,
  ...ShownPlan,
  kind: CardKind,
  status: CardStatus,
  statusReason: v.nullable(v.string()),
  missingGate: v.nullable(v.string()),
  position: v.nullable(Position),
  unread: v.boolean(),
  deferred: v.boolean(),
  autoMode: v.boolean(),
  hasActiveAgent: v.boolean(),
  reviewState: v.nullable(ReviewState),
  reviewRound: Count,
  ...Merge,
  pullRequest: v.nullable(PullRequestSummary),
  issue: v.nullable(IssueSummary),
  agent: AgentChoice.entries.agent,
  /** The account that created the card. Null if there is none, or if it is unknown. */
  creatorId: v.nullable(AccountId),
  /** The creator's name when the card was created. */
  creatorName: v.nullable(v.string()),
  attachmentCount: Count,
  commentCount: Count,
  /** The number of the card's monitors that wait for a user's permission. */
  monitorQuestions: Count,
  /** Whether a card that blocks this one is not done. */
  blocked: v.boolean(),
  /** The earliest start of the card. In an active column, the card starts automatically at this time. */
  startAt: v.nullable(Time),
  /** Whether the card could start now. */
  ready: v.boolean(),
  parentId: v.nullable(Id),
  /** The card's parts, without those in the trash. */
  children: v.object({ total: Count, done: Count }),
  archivedAt: v.nullable(Time),
  createdAt: Time,
  updatedAt: Time,
  version: Count,
})
/** A whole card, without the path of a worktree that the board created, which the server does not reveal. */
export const CardDetail = v.object({
  ...CardItem.entries,
  columnType: ColumnType,
  prompt: Prompt,
  ...AgentChoice.entries,
  command: v.nullable(v.string()),
  /** All cards that block this one. */
  blockedBy: v.array(Id),
  /** The cards that this one blocks. */
  blocks: v.array(Id),
  /**
   * Whether a column can pull the card. False for a card from a user without the right to start agents, until it is activated.
   */
  pullable: v.boolean(),
  /** The card on which this card was found. */
  discoveredFromId: v.nullable(Id),
  source: v.nullable(CardSource),
  /** The accounts that are notified of the card's events. */
  watcherIds: v.array(AccountId),
  useWorktree: v.boolean(),
  /** The start of the card's branch. */
  base: v.nullable(v.string()),
  baseCardId: v.nullable(Id),
  gitBranch: v.nullable(v.string()),
  worktreePath: v.nullable(v.string()),
  lastAgentAction: LastAction,
  startedAt: v.nullable(Time),
  endedAt: v.nullable(Time),
  locks: v.array(Lock),
  sessions: v.array(
    v.object({
      id: Id,
      agent: v.string(),
      status: CardStatus,
      startedAt: Time,
      endedAt: v.nullable(Time),
      summary: v.nullable(v.string()),
    }),
  ),
})
/** A card as one caller sees it. */
export const CallersCard = v.object({
  ...CardDetail.entries,
  /** Whether the caller watches the card. */
  watching: v.boolean(),
})
const Step = v.object({
  columnId: Id,
  columnName: v.string(),
  prompt: v.string(),
  approval: v.picklist(['auto', 'manual']),
})
export const Pipeline = v.object({ steps: v.array(Step) })
