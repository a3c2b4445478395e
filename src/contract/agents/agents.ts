import * as v from 'valibot'
import { agentCatalogue } from './agentCatalogue.ts'
import { Message } from './agentMessages.ts'
import { agentSteering } from './agentSteering.ts'
import { CardStatus, Count, Id, integer, limit, queryInteger, queryRefTo, Time } from '../fields.ts'
import { RepositoryRef } from '../forges/repositories.ts'
import { ofCard, ofProject } from '../notFound.ts'
import { get, member, post, viewer } from '../route.ts'
import { SessionSandbox } from './sandbox.ts'
import { briefAgent } from './tool.ts'

export const StatusReason = v.picklist([
  'launch_failed',
  /** A command of the project that prepares the worktree failed, or took too long. */
  'setup_failed',
  'usage_limit',
  /** The model was not reached, or responded with an error. */
  'model_error',
  'refused',
  'protocol_violation',
  'crashed',
  'timeout',
  /** Limits of the project's sandbox: the memory, processes or time of the session, the size of a file. */
  'memory_limit',
  'process_limit',
  'time_limit',
  'file_limit',
  /** The agent shows no sign of life: it is silent, and its processes are idle. */
  'silent',
  /** The turn ended well, but the agent's last message looks like an error, so a user decides. */
  'unclear',
  /** A budget is exhausted. The session continues automatically once the budget allows it. */
  'budget',
  /**
   * The agent ended its turn with a question and changed nothing, or has an open question. The session continues with the answer.
   */
  'question',
  'cancelled',
  'server_restart',
  /** The session is queued, and the slots of the server, its project, its agent or its credential are occupied. */
  'slots',
  /** The session is queued, and its card got blockers or a start time before its work started. */
  'blocked',
  /** The work is completed, but a gate has failed, and the card has used up its rounds. A user decides. */
  'gate',
  /** The work is completed and has passed its gates. The landing queue merges it. */
  'landing',
])
export type StatusReason = v.InferOutput<typeof StatusReason>
/**
 * Tokens and cost as the agent reports them. Null if the agent does not report them. Without `exact`, the agent reports only a part of its
 * tokens, so the values are lower bounds.
 */
export const Usage = v.object({
  inputTokens: Count,
  outputTokens: Count,
  exact: v.boolean(),
  contextUsed: v.nullable(Count),
  contextSize: v.nullable(Count),
  costUsd: v.nullable(v.number()),
})
/** `waitingFor` is the decision that a user must make before the agent continues, in one line. */
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
  /** When the agent's usage limit ends, if the agent reports it. */
  limitEndsAt: v.nullable(Time),
  /** The earliest start of a queued session that waits for the end of a usage limit. */
  notBefore: v.nullable(Time),
  /**
   * Since when the agent has been silent in its turn, without a running tool or an open question: it might be waiting for its
   * model. With the status waiting and the reason silent, it has shown no sign of life for a long time, even with a running tool.
   */
  silentSince: v.nullable(Time),
  /** The agent's own report of its retries, such as `Reconnecting... 2/5`. */
  retrying: v.nullable(v.string()),
  usage: v.nullable(Usage),
  summary: v.nullable(v.string()),
  baseCommit: v.nullable(v.string()),
  branch: v.nullable(v.string()),
  /** The sandbox of the agent. Null before it starts. */
  sandbox: v.nullable(SessionSandbox),
})
/**
 * An agent's question that waits for a user's decision. `requestId` identifies it for plan-approve, and `options` are the
 * possible answers; with `takesText` also a text, in plan-approve's `answer`. `command` is the command that would run and `paths`
 * the affected files, if the agent's program reports them; `title` can be text from a model. `plan` is Markdown.
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
/** The outcome of waiting for a card: its agent has ended, waits for a user, never started, or the wait timed out. */
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
/** `agents` are the agents that announced the command. Empty for a file of the project that no agent has announced yet. */
export const SlashCommand = v.object({ name: v.string(), description: v.string(), agents: v.array(v.string()) })
const DiffStats = v.object({ filesChanged: Count, insertions: Count, deletions: Count })
/** `snapshot` identifies the compared files. Null for a card that never ran. */
const Diff = v.object({ diff: v.string(), stats: DiffStats, truncated: v.boolean(), snapshot: v.nullable(v.string()) })

const Moment = v.union([Time, queryInteger(0)], 'must be an ISO 8601 time or a message ID')
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
      title: 'Get the state of an agent',
      group: 'find',
      does: 'reads',
      brief: briefAgent,
    },
    summary: "Get a card's latest agent session with its open questions",
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
      note: 'Outcomes: waiting (questions are open: answer them with answer_agent), timeout (the agent still works: wait again), idle (no agent was started: use move_card into an active column), ended.',
      brief: ['outcome', ...briefAgent],
    },
    summary: "Wait until a card's agent ends or waits for a user",
    details: 'Returns at once if no agent was started, and at the latest after timeoutSecs.',
    // Programs that call this as a tool time out after a minute.
    input: v.strictObject({
      timeoutSecs: v.optional(v.pipe(queryInteger(1, 50), v.description('Seconds to wait, from 1 to 50')), 30),
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
    tool: { name: 'list_sessions', title: 'List agent sessions', group: 'find', does: 'reads' },
    summary: "List summaries of a card's agent sessions",
    output: v.array(SessionSummary),
  }),
  messages: get('/api/projects/{projectId}/cards/{cardId}/agent/messages', {
    fails: ['SESSION_NOT_FOUND'],
    notFound: ofCard,
    who: viewer('agents.read'),
    tool: {
      name: 'read_transcript',
      title: 'Get a transcript',
      group: 'find',
      does: 'reads',
      note: 'Without since and before, the last messages.',
      usual: { limit: 20 },
      brief: ['id', 'role', 'content', 'tool', 'at'],
      pages: { after: 'since', before: 'before' },
    },
    summary: "List the messages of a card's agent sessions, oldest first",
    input: ListMessages,
    output: v.array(Message),
  }),
  summary: post('/api/projects/{projectId}/cards/{cardId}/summary', {
    notFound: ofCard,
    at: 'machine',
    who: member('agents.run'),
    summary: 'Create a summary of the work on a card',
    output: v.object({ summary: v.string() }),
  }),
  active: get('/api/projects/{projectId}/active-agents', {
    notFound: ofProject,
    who: viewer('agents.read'),
    tool: { name: 'list_active_agents', title: 'List active agents', group: 'find', does: 'reads' },
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
    summary: 'List the slash commands of a project and its agents',
    output: v.array(SlashCommand),
  }),
  token: post('/api/projects/{projectId}/cards/{cardId}/agent-token', {
    notFound: ofCard,
    audited: { target: 'card', detail: ['ttlSecs'] },
    who: member(),
    summary: 'Create an agent token for an active card',
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
    tool: { name: 'read_diff', title: 'Get the diff of a card', group: 'find', does: 'reads' },
    summary: 'Get the diff of a card since its base commit or since a review',
    input: v.strictObject({ since: v.optional(queryRefTo('REVIEW_NOT_FOUND')), repository: RepositoryRef }),
    output: Diff,
  }),
}
