import * as v from 'valibot'
import { agentCatalogue } from './agentCatalogue.ts'
import { AgentMessage } from './agentMessages.ts'
import { ForceStart } from './cardOrder.ts'
import { CardStatus, Count, Id, integer, limit, Prompt, queryInteger, queryRefTo, text, Time } from './fields.ts'
import { ofCard, ofProject } from './notFound.ts'
import { get, member, post, viewer } from './route.ts'
import { SessionSandbox } from './sandbox.ts'

export const StatusReason = v.picklist([
  'launch_failed',
  /** A command of the project that prepares the worktree failed, or took too long. */
  'setup_failed',
  'usage_limit',
  /** The model was not reached, or answered with an error. */
  'model_error',
  'refused',
  'protocol_violation',
  'crashed',
  'timeout',
  /** Bounds of the project's sandbox: the memory, processes or time of the session, the size of a file. */
  'memory_limit',
  'process_limit',
  'time_limit',
  'file_limit',
  /** It shows no sign of life: it says nothing, and its processes do nothing. */
  'silent',
  /** The turn ended well, but what the agent said last looks like an error: a person decides. */
  'unclear',
  'cancelled',
  'server_restart',
])
export type StatusReason = v.InferOutput<typeof StatusReason>
/** Tokens and cost as the agent reports them; null where it does not. Without `exact` it reports a part of its tokens only: a lower bound. */
export const Usage = v.object({
  inputTokens: Count,
  outputTokens: Count,
  exact: v.boolean(),
  contextUsed: v.nullable(Count),
  contextSize: v.nullable(Count),
  costUsd: v.nullable(v.number()),
})
/** `waitingFor` is what a person has to decide before the agent continues, in one line. */
export const AgentSession = v.object({
  sessionId: v.nullable(Id),
  cardId: Id,
  agent: v.nullable(v.string()),
  status: CardStatus,
  statusReason: v.nullable(StatusReason),
  waitingFor: v.nullable(v.string()),
  startedAt: v.nullable(Time),
  endedAt: v.nullable(Time),
  profile: v.nullable(v.string()),
  model: v.nullable(v.string()),
  mode: v.nullable(v.string()),
  effort: v.nullable(v.string()),
  /** When the usage limit ends that the agent has reached, as far as it says so. */
  limitEndsAt: v.nullable(Time),
  /** A queued session starts no earlier: it waits for the end of a usage limit. */
  notBefore: v.nullable(Time),
  /**
   * Since when the agent has said nothing in its turn, though no tool runs and nobody is asked: it may wait for its model. With the status
   * waiting and the reason silent it has shown no sign of life for long, whatever runs.
   */
  silentSince: v.nullable(Time),
  /** What the agent says of its own retries, such as `Reconnecting... 2/5`. */
  retrying: v.nullable(v.string()),
  usage: v.nullable(Usage),
  summary: v.nullable(v.string()),
  baseCommit: v.nullable(v.string()),
  branch: v.nullable(v.string()),
  /** What its agent is kept apart by; null before it starts. */
  sandbox: v.nullable(SessionSandbox),
})
/**
 * What an agent waits for a person to decide. `requestId` names it to plan-approve, and `options` are the answers that the agent
 * takes. `command` is what would run and `paths` the files that it is about, where the agent's program tells them; `title` may be
 * the words of a model. `plan` is Markdown.
 */
const questionEntries = {
  requestId: v.string(),
  title: v.string(),
  kind: v.string(),
  command: v.nullable(v.string()),
  paths: v.array(v.string()),
  plan: v.nullable(v.string()),
  options: v.array(v.object({ id: v.string(), name: v.string(), kind: v.string() })),
}
export const Question = v.object(questionEntries)
/** A card's latest session with what its agent asks, oldest first; `waitingFor` is the first of it. */
export const AgentState = v.object({ ...AgentSession.entries, questions: v.array(Question) })
export const SessionSummary = v.object({
  sessionId: Id,
  agent: v.string(),
  status: CardStatus,
  statusReason: v.nullable(StatusReason),
  startedAt: v.nullable(Time),
  endedAt: v.nullable(Time),
  summary: v.nullable(v.string()),
  messages: Count,
  toolCalls: Count,
  filesChanged: Count,
})
const MessageRole = v.picklist(['user', 'agent', 'thought', 'tool', 'plan', 'system'])
export const Tool = v.object({
  name: v.string(),
  kind: v.string(),
  status: v.picklist(['pending', 'in_progress', 'completed', 'failed']),
  input: v.unknown(),
  output: v.unknown(),
  locations: v.array(v.object({ path: v.string(), line: v.nullable(Count) })),
})
export const Message = v.object({
  id: Id,
  sessionId: Id,
  role: MessageRole,
  content: v.string(),
  tool: v.nullable(Tool),
  /** What a person gave with it; what was deleted since has its name here still. */
  attachments: v.array(v.object({ id: Id, filename: v.string() })),
  at: Time,
})
/** A question of a card's agent. */
export const Permission = v.object({ ...questionEntries, sessionId: Id, cardId: Id })
/** `agents` are those that announced it; none for a file of the project that no agent has announced yet. */
export const SlashCommand = v.object({ name: v.string(), description: v.string(), agents: v.array(v.string()) })
const DiffStats = v.object({ filesChanged: Count, insertions: Count, deletions: Count })
const Diff = v.object({ diff: v.string(), stats: DiffStats, truncated: v.boolean() })

const Moment = v.union([Time, queryInteger(0)], 'must be an ISO 8601 time or a message id')
const ListMessages = v.strictObject({
  sessionId: v.optional(queryInteger(1)),
  since: v.optional(Moment),
  before: v.optional(Moment),
  limit: limit(100, 1000),
})
const Merge = v.strictObject({ into: v.optional(text(1, 250)), squash: v.optional(v.boolean(), false) })

export const agents = {
  ...agentCatalogue,
  get: get('/api/projects/{projectId}/cards/{cardId}/agent', {
    notFound: ofCard,
    who: viewer('agents.read'),
    summary: "Read a card's latest agent session, and what it asks",
    output: AgentState,
  }),
  cancel: post('/api/projects/{projectId}/cards/{cardId}/agent/cancel', {
    fails: ['AGENT_NOT_RUNNING'],
    notFound: ofCard,
    at: 'machine or here',
    who: member('agents.cancel'),
    summary: "Cancel a card's agent; files that it wrote stay",
    emits: ['agent.status', 'card.updated'],
  }),
  sessions: get('/api/projects/{projectId}/cards/{cardId}/agent/sessions', {
    notFound: ofCard,
    who: viewer('agents.read'),
    summary: "List a card's agent sessions, oldest first",
    output: v.array(AgentSession),
  }),
  history: get('/api/projects/{projectId}/cards/{cardId}/agent/history', {
    notFound: ofCard,
    who: viewer('agents.read'),
    summary: "List a card's agent sessions condensed",
    output: v.array(SessionSummary),
  }),
  messages: get('/api/projects/{projectId}/cards/{cardId}/agent/messages', {
    fails: ['SESSION_NOT_FOUND'],
    notFound: ofCard,
    who: viewer('agents.read'),
    summary: "List a card's messages, oldest first",
    input: ListMessages,
    output: v.array(Message),
  }),
  send: post('/api/projects/{projectId}/cards/{cardId}/agent/message', {
    fails: ['AGENT_UNAVAILABLE', 'ATTACHMENT_NOT_FOUND', 'CARD_BLOCKED'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: member('agents.run'),
    summary:
      "Send a message to a card's agent, with attachments of the card; during a turn it waits for the turn's end",
    input: AgentMessage,
    output: Message,
    status: 202,
    emits: ['agent.message', 'agent.status', 'card.updated'],
  }),
  retry: post('/api/projects/{projectId}/cards/{cardId}/agent/retry', {
    fails: ['AGENT_ALREADY_RUNNING', 'AGENT_UNAVAILABLE', 'CARD_BLOCKED'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Go on with the latest session, in a new one where the agent cannot resume',
    input: ForceStart,
    emits: ['agent.status', 'card.updated'],
  }),
  relaunch: post('/api/projects/{projectId}/cards/{cardId}/agent/relaunch', {
    fails: ['AGENT_ALREADY_RUNNING', 'AGENT_UNAVAILABLE', 'CARD_BLOCKED'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Start a new session',
    input: ForceStart,
    emits: ['agent.status', 'card.updated'],
  }),
  relay: post('/api/projects/{projectId}/cards/{cardId}/agent/relay', {
    fails: ['AGENT_NOT_RUNNING'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Hand a condensed context over to a fresh session',
    emits: ['agent.status', 'card.updated'],
  }),
  approvePlan: post('/api/projects/{projectId}/cards/{cardId}/agent/plan-approve', {
    fails: ['NOTHING_TO_APPROVE'],
    notFound: ofCard,
    audited: { target: 'card', detail: ['approved', 'waitingFor', 'command', 'option'] },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Answer an open plan or permission request of the agent: that of requestId, else the only one',
    input: v.strictObject({
      approved: v.boolean(),
      feedback: v.optional(Prompt),
      requestId: v.optional(text(1, 100)),
      /** One of the question's options. Without it, one that counts once. */
      optionId: v.optional(text(1, 1000)),
    }),
    emits: ['agent.message', 'agent.status', 'card.updated'],
  }),
  summary: post('/api/projects/{projectId}/cards/{cardId}/summary', {
    notFound: ofCard,
    at: 'machine',
    who: member('agents.run'),
    summary: 'Summarize what was done on a card',
    output: v.object({ summary: v.string() }),
  }),
  active: get('/api/projects/{projectId}/active-agents', {
    notFound: ofProject,
    who: viewer('agents.read'),
    summary: "List a project's cards with an active agent",
    output: v.array(
      v.object({
        cardId: Id,
        cardTitle: v.string(),
        status: CardStatus,
        agent: v.nullable(v.string()),
        startedAt: v.nullable(Time),
      }),
    ),
  }),
  slashCommands: get('/api/projects/{projectId}/slash-commands', {
    notFound: ofProject,
    at: 'machine',
    who: viewer('agents.read'),
    summary: 'List commands that agents announced and the project keeps',
    output: v.array(SlashCommand),
  }),
  token: post('/api/projects/{projectId}/cards/{cardId}/agent-token', {
    notFound: ofCard,
    audited: { target: 'card', detail: ['ttlSecs'] },
    who: member(),
    summary: 'Mint an agent token for an active card',
    input: v.strictObject({ ttlSecs: v.optional(integer(60, 43_200), 3600) }),
    output: v.object({ token: v.string(), expiresAt: Time }),
    idempotent: false,
    status: 201,
  }),
  approveAuto: post('/api/projects/{projectId}/cards/{cardId}/approve-auto', {
    fails: ['NOTHING_TO_APPROVE'],
    notFound: ofCard,
    audited: { target: 'card', only: 'starts' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Let a completed card move on to its next pipeline column',
    emits: ['card.moved'],
  }),
  diff: get('/api/projects/{projectId}/cards/{cardId}/diff', {
    notFound: ofCard,
    at: 'machine',
    who: viewer('agents.read'),
    fails: ['NOT_A_GIT_REPOSITORY', 'CONFLICT', 'REVIEW_NOT_FOUND'],
    summary: 'Read what a card has changed since its base commit, or since a review of it',
    input: v.strictObject({ since: v.optional(queryRefTo('REVIEW_NOT_FOUND')) }),
    output: Diff,
  }),
  merge: post('/api/projects/{projectId}/cards/{cardId}/merge', {
    fails: ['NOT_A_GIT_REPOSITORY', 'MERGE_CONFLICT', 'WORKTREE_DIRTY', 'AGENT_ALREADY_RUNNING', 'CONFLICT'],
    notFound: ofCard,
    audited: { target: 'card', detail: ['into', 'squash'] },
    at: 'machine',
    who: member('agents.run'),
    summary: "Merge a card's branch; a conflict changes nothing",
    input: Merge,
    output: v.object({ merged: v.boolean(), into: v.string(), commit: v.string() }),
  }),
}
