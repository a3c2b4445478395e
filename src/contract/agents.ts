import * as v from 'valibot'
import { agentCatalogue } from './agentCatalogue.ts'
import { Message } from './agentMessages.ts'
import { agentSteering } from './agentSteering.ts'
import { CardStatus, Count, Id, integer, limit, queryInteger, queryRefTo, Time } from './fields.ts'
import { RepositoryRef } from './repositories.ts'
import { ofCard, ofProject } from './notFound.ts'
import { get, member, post, viewer } from './route.ts'
import { SessionSandbox } from './sandbox.ts'
import { briefAgent } from './tool.ts'

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
  /** A budget is used up: it goes on by itself once the budget allows that. */
  'budget',
  /** Its agent ended its turn with a question and changed nothing, or a question of it is open: it continues with the answer. */
  'question',
  'cancelled',
  'server_restart',
  /** It is queued, and others have the slots of the server, its project, its agent or its credential. */
  'slots',
  /** It is queued, and its card got blockers or a start time before its work began. */
  'blocked',
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
 * takes; with `takesText` also words, plan-approve's `answer`. `command` is what would run and `paths` the files that it is about, where the agent's program tells them; `title` may be
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
  takesText: v.boolean(),
}
export const Question = v.object(questionEntries)
/**
 * A card's latest session with the questions of its agent, and then of its monitors, which stay open after the session; `waitingFor`
 * is the first of them.
 */
export const AgentState = v.object({ ...AgentSession.entries, questions: v.array(Question) })
/** What came of waiting for a card: its agent has ended, asks somebody, never began, or the time was over. */
const WaitOutcome = v.picklist(['ended', 'waiting', 'idle', 'timeout'])
export type WaitOutcome = v.InferOutput<typeof WaitOutcome>
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
export const agents = {
  ...agentCatalogue,
  ...agentSteering,
  get: get('/api/projects/{projectId}/cards/{cardId}/agent', {
    notFound: ofCard,
    who: viewer('agents.read'),
    tool: {
      name: 'get_agent',
      title: 'Read what an agent does and asks',
      group: 'find',
      does: 'reads',
      brief: briefAgent,
    },
    summary: "Read a card's latest agent session, and what it asks",
    output: AgentState,
  }),
  wait: get('/api/projects/{projectId}/cards/{cardId}/agent/wait', {
    fails: ['RATE_LIMITED'],
    notFound: ofCard,
    takesLong: true,
    who: viewer('agents.read'),
    tool: {
      name: 'wait_for_card',
      title: 'Wait for an agent',
      group: 'run',
      does: 'reads',
      note: 'waiting: it asks, see questions, and answer_agent answers; timeout: it still works, wait again; idle: nothing was started, move_card into an active column starts it.',
      brief: ['outcome', ...briefAgent],
    },
    summary: "Wait until a card's agent has ended, waits for a person or never began, or the time is over",
    // Programs that call it as a tool give up after a minute.
    input: v.strictObject({
      timeoutSecs: v.optional(v.pipe(queryInteger(1, 50), v.description('1 to 50.')), 30),
    }),
    output: v.object({ outcome: WaitOutcome, ...AgentState.entries }),
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
    tool: { name: 'list_sessions', title: 'List sessions of a card', group: 'find', does: 'reads' },
    summary: "List a card's agent sessions condensed",
    output: v.array(SessionSummary),
  }),
  messages: get('/api/projects/{projectId}/cards/{cardId}/agent/messages', {
    fails: ['SESSION_NOT_FOUND'],
    notFound: ofCard,
    who: viewer('agents.read'),
    tool: {
      name: 'read_transcript',
      title: 'Read a transcript',
      group: 'find',
      does: 'reads',
      note: 'The last messages without since and before.',
      usual: { limit: 20 },
      brief: ['id', 'role', 'content', 'tool', 'at'],
      pages: { after: 'since', before: 'before' },
    },
    summary: "List a card's messages, oldest first",
    input: ListMessages,
    output: v.array(Message),
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
    tool: { name: 'list_active_agents', title: 'List agents at work', group: 'find', does: 'reads' },
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
  diff: get('/api/projects/{projectId}/cards/{cardId}/diff', {
    notFound: ofCard,
    at: 'machine',
    who: viewer('agents.read'),
    fails: ['NOT_A_GIT_REPOSITORY', 'CONFLICT', 'REVIEW_NOT_FOUND'],
    tool: { name: 'read_diff', title: 'Read what a card changed', group: 'find', does: 'reads' },
    summary: 'Read what a card has changed since its base commit, or since a review of it',
    input: v.strictObject({ since: v.optional(queryRefTo('REVIEW_NOT_FOUND')), repository: RepositoryRef }),
    output: Diff,
  }),
}
