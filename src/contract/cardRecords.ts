import * as v from 'valibot'
import { AgentChoice } from './agentChoice.ts'
import {
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

export const LastAction = v.nullable(v.object({ type: v.string(), at: Time, detail: v.nullable(v.string()) }))
export const Lock = v.object({ kind: v.string(), holder: v.string(), acquiredAt: Time })

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
  agent: AgentChoice.entries.agent,
  /** The account that made it; null where that is none, or not known. */
  creatorId: v.nullable(Id),
  /** What it was called then. */
  creatorName: v.nullable(v.string()),
  attachmentCount: Count,
  /** Whether a card that it waits for is not done. */
  blocked: v.boolean(),
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
  /** The card on which it was found. */
  discoveredFromId: v.nullable(Id),
  useWorktree: v.boolean(),
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
const Step = v.object({
  columnId: Id,
  columnName: v.string(),
  prompt: v.string(),
  approval: v.picklist(['auto', 'manual']),
})
export const Pipeline = v.object({ steps: v.array(Step) })
