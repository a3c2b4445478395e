import * as v from 'valibot'
import { AfterMerge, ChangedAfterMerge } from '../forges/afterMerge.ts'
import { LandMode } from '../forges/landings.ts'
import { AgentChoice, ChangedAgentChoice } from '../agents/agentChoice.ts'
import { CardStatus, Count, Day, Id, Name, Order, refTo, text, Time, ColumnType } from '../fields.ts'
import { ApprovalPolicy } from '../agents/approvalPolicy.ts'
import { ChangedForge, ForgeSettings } from '../forges/forge.ts'
import { ofProject } from '../notFound.ts'
import { ChangedSandbox, SandboxSettings } from '../agents/sandbox.ts'
import { OnSilence } from '../agents/silence.ts'
import { ChangedUsageLimits, UsageLimits } from '../agents/usageLimits.ts'
import { ChangedWorktree, ProjectWorktree, WorktreeSettings } from './worktree.ts'
import { SessionCards, Slots } from '../agents/agentSlots.ts'
import { GateRounds } from '../boards/gates.ts'
import { FolderPath, Repositories, RepositoryRef } from '../forges/repositories.ts'
import { del, get, manager, member, patch, post, user, userOr, viewer } from '../route.ts'

export const Project = v.object({
  id: Id,
  name: Name,
  /** The folder of its home repository, or a folder outside of any repository. */
  path: v.string(),
  /** Its other repositories: a card's agent gets a worktree of each. */
  repositories: Repositories,
  organizationId: v.nullable(Id),
  ownerId: v.nullable(Id),
  credentialId: v.nullable(Id),
  ...AgentChoice.entries,
  approvalPolicy: ApprovalPolicy,
  usageLimits: UsageLimits,
  onSilence: OnSilence,
  /** The maximum number of the project's concurrent agents. Null if unlimited. */
  agentSlots: Slots,
  /** The number of cards that each session of its agents can create. */
  sessionCards: SessionCards,
  /** How often a card in auto mode goes back to its agent because its gates failed. */
  gateRounds: GateRounds,
  /** `when_proved`: a card in auto mode is merged by the landing queue before it moves to a done column. */
  land: LandMode,
  afterMerge: AfterMerge,
  sandbox: SandboxSettings,
  worktree: WorktreeSettings,
  forge: ForgeSettings,
  role: v.picklist(['admin', 'member', 'viewer']),
  unreadCount: Count,
  lastOpenedAt: v.nullable(Time),
  /**
   * Whether the caller created, accepted or opened the project. Otherwise, the caller's clients do not select the project by its folder.
   */
  accepted: v.boolean(),
  createdAt: Time,
  updatedAt: Time,
})
export const Stats = v.object({
  total: Count,
  byStatus: v.record(v.string(), Count),
  byColumn: v.array(v.object({ columnId: Id, name: v.string(), columnType: ColumnType, count: Count })),
  tokens: v.object({ total: Count, sessions: Count }),
  /** The number of monitors that wait for a user's permission. */
  monitorQuestions: Count,
})
/**
 * The number of a project's cards at the end of a day (UTC), by the type of their column; archived ones separately. `byStatus`
 * counts the cards that are not archived.
 */
const CardsOfDay = v.object({
  day: v.pipe(v.string(), v.isoDate()),
  backlog: Count,
  active: Count,
  done: Count,
  archived: Count,
  byStatus: v.record(CardStatus, Count),
})
/** The usage so far of an agent's sessions that started on a day (UTC). `costUsd` is null if none of them reported its cost. */
const UsageOfDay = v.object({
  day: v.pipe(v.string(), v.isoDate()),
  agent: v.string(),
  sessions: Count,
  inputTokens: Count,
  outputTokens: Count,
  costUsd: v.nullable(v.number()),
})
const Since = v.strictObject({ since: v.optional(Day) })
/** `createFolder`: create the folder if it does not exist. Its parent must exist. */
const CreateProject = v.strictObject({
  name: Name,
  path: FolderPath,
  repositories: v.optional(Repositories, []),
  organizationId: v.optional(v.nullable(refTo('ORGANIZATION_NOT_FOUND')), null),
  createFolder: v.optional(v.boolean(), false),
})
const UpdateProject = v.strictObject({
  name: v.optional(Name),
  path: v.optional(FolderPath),
  repositories: v.optional(Repositories),
  organizationId: v.optional(v.nullable(refTo('ORGANIZATION_NOT_FOUND'))),
  ...ChangedAgentChoice.entries,
  approvalPolicy: v.optional(ApprovalPolicy),
  usageLimits: v.optional(ChangedUsageLimits),
  onSilence: v.optional(OnSilence),
  agentSlots: v.optional(Slots),
  sessionCards: v.optional(SessionCards),
  gateRounds: v.optional(GateRounds),
  land: v.optional(LandMode),
  afterMerge: v.optional(ChangedAfterMerge),
  sandbox: v.optional(ChangedSandbox),
  worktree: v.optional(ChangedWorktree),
  forge: v.optional(ChangedForge),
})

/** The possible errors of a project's folder, organization and credential. */
const badReferences = [
  'PATH_NOT_FOUND',
  'PATH_NOT_ABSOLUTE',
  'PATH_OUTSIDE_ROOTS',
  'ORGANIZATION_NOT_FOUND',
  'CREDENTIAL_NOT_FOUND',
] as const

export const projects = {
  create: post('/api/projects', {
    audited: { target: 'project', id: 'id', detail: ['organizationId'] },
    who: user,
    fails: badReferences,
    summary: 'Create a project with its default board',
    input: CreateProject,
    output: Project,
    idempotent: true,
    status: 201,
    emits: ['project.created', 'board.created'],
  }),
  list: get('/api/projects', {
    who: userOr('projects.read'),
    tool: {
      name: 'list_projects',
      title: 'List projects',
      group: 'find',
      does: 'reads',
      brief: ['id', 'name', 'path', 'role', 'unreadCount', 'organizationId'],
    },
    summary: 'List the projects that the caller can see',
    input: v.strictObject({ organizationId: v.optional(refTo('ORGANIZATION_NOT_FOUND')) }),
    output: v.array(Project),
  }),
  reorder: patch('/api/projects/reorder', {
    fails: ['INVALID_ORDER'],
    who: user,
    summary: "Reorder the caller's projects",
    input: Order,
    output: v.array(Project),
  }),
  get: get('/api/projects/{id}', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    who: viewer('projects.read', 'id'),
    summary: 'Get a project',
    output: Project,
  }),
  update: patch('/api/projects/{id}', {
    fails: badReferences,
    notFound: { id: 'PROJECT_NOT_FOUND' },
    audited: {
      target: 'project',
      detail: [
        'organizationId',
        'repositories',
        'agent',
        'profile',
        'model',
        'mode',
        'effort',
        'credentialId',
        'approvalPolicy',
        'usageLimits',
        'onSilence',
        'agentSlots',
        'sessionCards',
        'gateRounds',
        'land',
        'afterMerge',
        'sandbox',
        'worktree',
        'forge',
      ],
    },
    at: 'machine',
    who: manager(undefined, 'id'),
    summary: 'Update a project',
    details: 'A new agent clears the model, mode and effort, unless the request sets them.',
    input: UpdateProject,
    output: Project,
    emits: ['project.updated'],
  }),
  delete: del('/api/projects/{id}', {
    takesLong: true,
    notFound: { id: 'PROJECT_NOT_FOUND' },
    audited: { target: 'project' },
    at: 'machine or here',
    who: manager(undefined, 'id'),
    summary: 'Delete a project with its boards, columns and cards',
    details: 'Its folder remains.',
    emits: ['project.deleted'],
  }),
  opened: patch('/api/projects/{id}/last-opened', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    who: viewer('projects.read', 'id'),
    summary: 'Record that the caller opened a project',
  }),
  markAllRead: post('/api/projects/{id}/mark-all-read', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    who: member('cards.update', 'id'),
    summary: 'Mark all cards of a project as read',
    emits: ['card.viewed'],
  }),
  stats: get('/api/projects/{id}/stats', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    who: viewer('cards.read', 'id'),
    tool: { name: 'count_cards', title: 'Count cards', group: 'find', does: 'reads' },
    summary: 'Get card counts of a project',
    output: Stats,
  }),
  history: get('/api/projects/{id}/stats/history', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    who: viewer('cards.read', 'id'),
    summary: 'Get card counts of a project per day, oldest first',
    input: Since,
    output: v.array(CardsOfDay),
  }),
  usage: get('/api/projects/{id}/stats/usage', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    who: viewer('agents.read', 'id'),
    tool: { name: 'read_usage', title: 'Get the usage of agents', group: 'find', does: 'reads' },
    summary: "Get the usage of a project's agents per agent and day, oldest first",
    details: 'The default is the last 90 days.',
    input: Since,
    output: v.array(UsageOfDay),
  }),
  getWorktree: get('/api/projects/{id}/worktree', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    at: 'machine',
    who: viewer('projects.read', 'id'),
    summary: "Get a project's worktree settings, its board.json, and the resulting settings",
    output: ProjectWorktree,
  }),
  agreeToBoardFile: post('/api/projects/{id}/worktree/agreement', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    audited: { target: 'project', detail: ['version'] },
    at: 'machine',
    who: member('scripts.run', 'id'),
    fails: ['CONFLICT'],
    summary: "Agree to the commands in the current version of a project's board.json",
    input: v.strictObject({ version: text(1, 100) }),
    output: ProjectWorktree,
    emits: ['project.updated'],
  }),
  withdrawAgreement: del('/api/projects/{id}/worktree/agreement', {
    notFound: { id: 'PROJECT_NOT_FOUND' },
    audited: { target: 'project' },
    who: member('scripts.run', 'id'),
    summary: "Withdraw the agreement to all versions of a project's board.json",
    emits: ['project.updated'],
  }),
  files: get('/api/projects/{projectId}/files', {
    notFound: ofProject,
    at: 'machine',
    who: viewer('projects.read'),
    fails: ['NOT_A_GIT_REPOSITORY', 'CONFLICT'],
    summary: "List the files that Git tracks in the project's folder, or in another repository of the project",
    input: v.strictObject({ repository: RepositoryRef }),
    output: v.array(v.string()),
  }),
}
