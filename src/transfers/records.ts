import * as v from 'valibot'
import { ChangedAfterMerge } from '../contract/forges/afterMerge.ts'
import { LandMode } from '../contract/forges/landings.ts'
import { StatusReason } from '../contract/agents/agents.ts'
import { defaultApprovalPolicy, ApprovalPolicy } from '../contract/agents/approvalPolicy.ts'
import { ChangedAgentChoice } from '../contract/agents/agentChoice.ts'
import { defaultSessionCards, SessionCards, Slots } from '../contract/agents/agentSlots.ts'
import { defaultGateRounds, GateRounds } from '../contract/boards/gates.ts'
import { GitName, maxBlockers } from '../contract/cards/cardOrder.ts'
import { CardSource } from '../contract/cards/cardRecords.ts'
import { Estimate, maxAssignees, Priority, type PlanEntries } from '../contract/cards/cardPlan.ts'
import { WipLimit } from '../contract/boards/columns.ts'
import {
  CardKind,
  CardStatus,
  ColumnType,
  Labels,
  integer,
  IntegerId,
  ImportedName,
  Position,
  Prompt,
  ReviewState,
  text,
  ImportedTitle,
  startsWithDay,
} from '../contract/fields.ts'
import { GivenRepository, Repositories } from '../contract/forges/repositories.ts'
import { Verdict } from '../contract/forges/reviews.ts'
import { CatchUp, Overlap, scheduleLimits, TimeZone } from '../contract/automation/schedules.ts'
import { OnSilence } from '../contract/agents/silence.ts'

/**
 * The records of a board's file, one schema per part (README, "Export and import"). The IDs are local to the file: they connect
 * its records and have no meaning elsewhere.
 */
export const version = 1

const maxTextLength = 1_048_576
export const Time = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'must be a time like 2026-01-31T12:00:00.000Z'),
  v.check(value => startsWithDay(value) && !Number.isNaN(Date.parse(value)), 'must be a time on a day that exists'),
)
const Count = integer(0, Number.MAX_SAFE_INTEGER)
const Amount = v.pipe(v.number(), v.finite(), v.minValue(0))
export const orNull = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema), null)
/** Profiles are specific to a server. If the server lacks a profile, this is reported when an agent starts. */
const { agent, profile, model, mode, effort } = ChangedAgentChoice.entries
const agentChoice = {
  agent: orNull(agent.wrapped.wrapped),
  profile: orNull(profile.wrapped.wrapped),
  model: orNull(model.wrapped.wrapped),
  mode: orNull(mode.wrapped.wrapped),
  effort: orNull(effort.wrapped.wrapped),
}
const limit = { wipLimit: v.optional(WipLimit, null), pull: v.optional(v.boolean(), false) }
const LongText = text(0, maxTextLength)
const Commit = v.pipe(v.string(), v.regex(/^[0-9a-f]{7,64}$/, 'must be the ID of a commit'))
const Branch = text(1, 1000)
const Member = { email: v.nullable(text(0, 254)), displayName: text(0, 500) }

const maxAddressLength = 2048
export const Address = v.pipe(
  text(1, maxAddressLength),
  v.regex(/^https?:\/\/[^\s"<>]+$/i, 'must be an http or https URL'),
)

export const Head = v.strictObject({
  format: v.literal('board'),
  version: v.literal(version),
  exportedAt: v.optional(Time),
  program: v.optional(text(0, 200)),
  organization: orNull(v.strictObject({ name: ImportedName })),
})

export const OrganizationMember = v.strictObject({ ...Member, role: v.picklist(['admin', 'member']) })
export const Template = v.strictObject({
  name: ImportedName,
  columns: v.pipe(
    v.array(v.strictObject({ name: ImportedName, columnType: ColumnType, prompt: v.optional(Prompt, ''), ...limit })),
    v.maxLength(50),
  ),
})
export const Project = v.strictObject({
  id: IntegerId,
  name: ImportedName,
  path: v.optional(v.nullable(text(1, 4096)), null),
  /** The project's repositories other than its home. */
  repositories: v.optional(Repositories, []),
  ...agentChoice,
  approvalPolicy: v.optional(ApprovalPolicy, defaultApprovalPolicy),
  copiedFiles: v.optional(v.pipe(v.array(text(1, 500)), v.maxLength(100)), []),
  onSilence: v.optional(OnSilence, 'wait'),
  agentSlots: v.optional(Slots, null),
  sessionCards: v.optional(SessionCards, defaultSessionCards),
  gateRounds: v.optional(GateRounds, defaultGateRounds),
  land: v.optional(LandMode, 'manual'),
  afterMerge: v.optional(ChangedAfterMerge, {}),
  /** The usage of the project's agents, including those of deleted cards. */
  tokens: v.optional(v.strictObject({ total: Count, sessions: Count }), { total: 0, sessions: 0 }),
  createdAt: v.optional(Time),
  updatedAt: v.optional(Time),
})
export const ProjectMember = v.strictObject({
  projectId: IntegerId,
  ...Member,
  role: v.picklist(['owner', 'admin', 'member', 'viewer']),
  invited: v.optional(v.boolean(), false),
})
export const Board = v.strictObject({
  id: IntegerId,
  projectId: IntegerId,
  name: ImportedName,
  position: Position,
  createdAt: v.optional(Time),
})
export const Column = v.strictObject({
  id: IntegerId,
  boardId: IntegerId,
  name: ImportedName,
  columnType: ColumnType,
  prompt: v.optional(Prompt, ''),
  ...agentChoice,
  ...limit,
  mergedColumnId: orNull(IntegerId),
  closedColumnId: orNull(IntegerId),
  position: Position,
})
/** A schedule that creates cards. Its owner is specific to a server. */
export const Schedule = v.strictObject({
  projectId: IntegerId,
  name: ImportedName,
  cron: orNull(text(1, 200)),
  everySecs: orNull(integer(scheduleLimits.minEverySecs, scheduleLimits.maxEverySecs)),
  timeZone: TimeZone,
  template: v.strictObject({
    title: ImportedTitle,
    prompt: v.optional(Prompt, ''),
    labels: v.optional(Labels, []),
    columnId: orNull(IntegerId),
    useWorktree: v.optional(v.boolean(), true),
    autoMode: v.optional(v.boolean(), false),
    ...agentChoice,
    priority: v.optional(Priority, 'normal'),
  }),
  overlap: v.optional(Overlap, 'skip'),
  catchUp: v.optional(CatchUp, 'none'),
  createdAt: v.optional(Time),
})
const plan = {
  priority: v.optional(Priority, 'normal'),
  dueAt: orNull(Time),
  estimate: orNull(Estimate),
} satisfies PlanEntries
export const Card = v.strictObject({
  id: IntegerId,
  columnId: IntegerId,
  kind: v.optional(CardKind, 'kanban'),
  position: v.nullable(Position),
  title: ImportedTitle,
  prompt: v.optional(Prompt, ''),
  labels: v.optional(Labels, []),
  /** Only names, because accounts are specific to a server. */
  assignees: v.optional(v.pipe(v.array(v.strictObject({ name: text(1, 500) })), v.maxLength(maxAssignees)), []),
  ...plan,
  groupId: orNull(ImportedName),
  source: orNull(v.strictObject({ ...CardSource.entries, id: text(1, 1000), url: orNull(Address) })),
  pipeline: v.optional(
    v.pipe(
      v.array(
        v.strictObject({
          columnId: IntegerId,
          prompt: v.optional(Prompt, ''),
          approval: v.optional(v.picklist(['auto', 'manual']), 'auto'),
        }),
      ),
      v.maxLength(100),
    ),
    [],
  ),
  ...agentChoice,
  command: orNull(text(1, 4096)),
  status: v.optional(CardStatus, 'idle'),
  statusReason: orNull(StatusReason),
  reviewState: orNull(ReviewState),
  reviewRound: v.optional(Count, 0),
  mergedAt: orNull(Time),
  mergedCommit: orNull(Commit),
  mergedInto: orNull(Branch),
  /** Only a name, because accounts are specific to a server. */
  creatorName: orNull(text(0, 500)),
  unread: v.optional(v.boolean(), false),
  deferred: v.optional(v.boolean(), false),
  autoMode: v.optional(v.boolean(), false),
  useWorktree: v.optional(v.boolean(), true),
  base: orNull(GitName),
  gitBranch: orNull(Branch),
  baseCommit: orNull(Commit),
  lastAgentAction: orNull(
    v.strictObject({
      type: v.pipe(v.string(), v.maxLength(10_000)),
      at: Time,
      detail: v.nullable(v.pipe(v.string(), v.maxLength(maxTextLength))),
    }),
  ),
  createdAt: v.optional(Time),
  updatedAt: v.optional(Time),
  startedAt: orNull(Time),
  endedAt: orNull(Time),
  doneAt: orNull(Time),
  startAt: orNull(Time),
  archivedAt: orNull(Time),
  version: v.optional(integer(1, Number.MAX_SAFE_INTEGER), 1),
})
export const Session = v.strictObject({
  id: IntegerId,
  cardId: IntegerId,
  purpose: v.picklist(['work', 'pre', 'review', 'assistant', 'terminal']),
  agent: text(1, 100),
  status: CardStatus,
  statusReason: orNull(StatusReason),
  detail: orNull(LongText),
  model: orNull(text(0, 10_000)),
  inputTokens: v.optional(Count, 0),
  outputTokens: v.optional(Count, 0),
  contextUsed: orNull(Count),
  contextSize: orNull(Count),
  costUsd: orNull(Amount),
  summary: orNull(LongText),
  prompt: v.optional(LongText, ''),
  baseCommit: orNull(Commit),
  branch: orNull(Branch),
  messages: v.optional(Count, 0),
  toolCalls: v.optional(Count, 0),
  filesChanged: v.optional(Count, 0),
  createdAt: Time,
  startedAt: orNull(Time),
  endedAt: orNull(Time),
})
const FreeText = v.pipe(v.string(), v.maxLength(maxTextLength))
export const Message = v.strictObject({
  sessionId: IntegerId,
  role: v.picklist(['user', 'agent', 'thought', 'tool', 'plan', 'system']),
  callId: orNull(text(0, 500)),
  at: Time,
  content: FreeText,
  tool: orNull(
    v.strictObject({
      name: FreeText,
      kind: v.pipe(v.string(), v.maxLength(500)),
      status: v.picklist(['pending', 'in_progress', 'completed', 'failed']),
      input: v.optional(v.unknown(), null),
      output: v.optional(v.unknown(), null),
      locations: v.pipe(
        v.array(v.strictObject({ path: v.pipe(v.string(), v.maxLength(4096)), line: v.nullable(Count) })),
        v.maxLength(1000),
      ),
    }),
  ),
  /** The attachments of the message. Attachments that are not in the file are omitted. */
  attachments: v.optional(
    v.pipe(v.array(v.strictObject({ id: IntegerId, filename: text(1, 500) })), v.maxLength(1000)),
    [],
  ),
  /** The session that has not received the message yet. */
  waitingSessionId: orNull(IntegerId),
})
/** The blockers of a card, its parent, and the card on which it was found. */
export const Dependency = v.strictObject({
  cardId: IntegerId,
  blockedBy: v.optional(v.pipe(v.array(IntegerId), v.maxLength(maxBlockers)), []),
  parentId: orNull(IntegerId),
  discoveredFromId: orNull(IntegerId),
  /** The card whose branch this card's branch starts at. */
  baseCardId: orNull(IntegerId),
})
/** A review of a card. Its author is only a name, because accounts are specific to a server. */
export const Review = v.strictObject({
  cardId: IntegerId,
  round: integer(1, Number.MAX_SAFE_INTEGER),
  verdict: Verdict,
  body: v.optional(Prompt, ''),
  authorName: v.optional(text(0, 500), ''),
  baseCommit: orNull(Commit),
  headCommit: orNull(Commit),
  comments: v.optional(
    v.pipe(
      v.array(
        v.strictObject({
          repository: v.optional(GivenRepository, ''),
          path: text(1, 4096),
          side: v.picklist(['old', 'new']),
          startLine: integer(1, Number.MAX_SAFE_INTEGER),
          line: integer(1, Number.MAX_SAFE_INTEGER),
          text: v.optional(text(0, 10_000), ''),
          body: text(1, 20_000),
          answer: orNull(text(0, 20_000)),
          answeredAt: orNull(Time),
          resolvedAt: orNull(Time),
        }),
      ),
      v.maxLength(1000),
    ),
    [],
  ),
  createdAt: v.optional(Time),
})

export type CardRecord = v.InferOutput<typeof Card>
