import * as v from 'valibot'
import { AgentChoice } from './agentChoice.ts'
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
} from './fields.ts'
import { IssueSummary } from './issueRecords.ts'
import { PullRequestSummary } from './pullRequestRecords.ts'

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

/** The type of a last action that says that a card's work is in its base already, and its worktree can go. */
export const landedAction = 'landed'
export const LastAction = v.nullable(v.object({ type: v.string(), at: Time, detail: v.nullable(v.string()) }))
export const Lock = v.object({ kind: v.string(), holder: v.string(), acquiredAt: Time })

/** The merge of a card's work. All are null unless the work is merged: new work after a merge, or a branch that lost it, resets them. */
export const Merge = {
  mergedAt: v.nullable(Time),
  mergedCommit: v.nullable(v.string()),
  /** The branch. */
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
  /** The account that made it; null where that is none, or not known. */
  creatorId: v.nullable(AccountId),
  /** What it was called then. */
  creatorName: v.nullable(v.string()),
  attachmentCount: Count,
  commentCount: Count,
  /** How many of its monitors wait for a person's permission. */
  monitorQuestions: Count,
  /** Whether a card that it waits for is not done. */
  blocked: v.boolean(),
  /** When it starts, if in an active column then by itself; it does not before. */
  startAt: v.nullable(Time),
  /** Whether it could start now. */
  ready: v.boolean(),
  parentId: v.nullable(Id),
  /** Its parts: without those in the trash. */
  children: v.object({ total: Count, done: Count }),
  archivedAt: v.nullable(Time),
  createdAt: Time,
  updatedAt: Time,
  version: Count,
})
/** A card whole. Without the server's path of a worktree the board made: that stays with the server. */
export const CardDetail = v.object({
  ...CardItem.entries,
  columnType: ColumnType,
  prompt: Prompt,
  ...AgentChoice.entries,
  command: v.nullable(v.string()),
  /** The cards that it waits for, all of them. */
  blockedBy: v.array(Id),
  /** The cards that wait for it. */
  blocks: v.array(Id),
  /** Whether a column that pulls may take it: not what somebody without the right to start agents has made, until it is activated. */
  pullable: v.boolean(),
  /** The card on which it was found. */
  discoveredFromId: v.nullable(Id),
  source: v.nullable(CardSource),
  /** The accounts that are told of what happens on it. */
  watcherIds: v.array(AccountId),
  useWorktree: v.boolean(),
  /** What its branch starts at. */
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
/** The same as one caller gets it. */
export const CallersCard = v.object({
  ...CardDetail.entries,
  /** Whether the caller watches it. */
  watching: v.boolean(),
})
const Step = v.object({
  columnId: Id,
  columnName: v.string(),
  prompt: v.string(),
  approval: v.picklist(['auto', 'manual']),
})
export const Pipeline = v.object({ steps: v.array(Step) })
