import type { InferOutput } from 'valibot'
import type { Message, Tool } from '../contract/agents/agentMessages.ts'
import {
  AgentSession,
  AgentState,
  SessionSummary,
  type agents,
  type Permission,
  type Question,
  type SlashCommand,
  type Usage,
} from '../contract/agents/agents.ts'
import type { Output } from '../contract/route.ts'
import {
  listedSessionFields,
  sessionFields,
  type ActiveAgentRow,
  type AgentQuestion,
  type SessionItem,
  type SessionRow,
} from '../store/agents/sessions.ts'
import type { MessageRow, SentAttachment } from '../store/agents/transcripts.ts'
import { viewOf } from './view.ts'

export type AgentSessionView = InferOutput<typeof AgentSession>
export type MessageView = InferOutput<typeof Message>

/** The view of a card that never ran an agent, or of an assistant that does not exist yet. */
export const noSession = <Id extends number | null>(cardId: Id) => ({
  sessionId: null,
  cardId: (cardId === null ? null : String(cardId)) as Id extends null ? string | null : string,
  agent: null,
  status: 'idle' as const,
  statusReason: null,
  waitingFor: null,
  startedAt: null,
  endedAt: null,
  profile: null,
  model: null,
  mode: null,
  effort: null,
  limitEndsAt: null,
  notBefore: null,
  silentSince: null,
  retrying: null,
  usage: null,
  summary: null,
  baseCommit: null,
  branch: null,
  sandbox: null,
})

const questionsOf = ({ waitingFor }: SessionRow) =>
  waitingFor === null ? [] : (JSON.parse(waitingFor) as AgentQuestion[])
const stateOf = (row: SessionItem) => ({ sessionId: String(row.id), waitingFor: row.question, usage: usage(row) })

/** A session with the questions that wait for a user. */
export const agentState: (row: SessionRow) => InferOutput<typeof AgentState> = viewOf(
  sessionFields,
  AgentState,
  'text',
  (row: SessionRow) => ({ ...stateOf(row), questions: questionsOf(row) }),
)

export const agentSession: (row: SessionItem) => AgentSessionView = viewOf(
  listedSessionFields,
  AgentSession,
  'text',
  stateOf,
)

/** A summary of a session, for the history. */
export const sessionSummary: (row: SessionItem) => InferOutput<typeof SessionSummary> = viewOf(
  listedSessionFields,
  SessionSummary,
  'text',
  (row: SessionItem) => ({ sessionId: String(row.id) }),
)

export const activeAgent = (row: ActiveAgentRow): Output<typeof agents.active>[number] => ({
  ...row,
  cardId: String(row.cardId),
})

/** The last commands that an agent announced. */
export const announcedCommands = ({
  agent,
  commands,
}: {
  agent: string
  commands: string
}): Array<InferOutput<typeof SlashCommand>> =>
  (JSON.parse(commands) as Array<{ name: string; description: string }>).map(({ name, description }) => ({
    name,
    description,
    agents: [agent],
  }))

/** A question of an open session, as its event shows it. */
export const permission = (
  row: Pick<SessionRow, 'id' | 'cardId'>,
  request: AskedQuestion,
): InferOutput<typeof Permission> => ({
  ...question(request),
  sessionId: String(row.id),
  cardId: String(row.cardId),
})

/** A question before it is shown. */
export type AskedQuestion = Omit<InferOutput<typeof Question>, 'requestId' | 'paths' | 'options' | 'takesText'> & {
  id: string
  paths: readonly string[]
  options: readonly InferOutput<typeof Question>['options'][number][]
  takesText?: boolean
}

/** A question in its stored and shown form. */
export const question = ({
  id,
  title,
  kind,
  command,
  paths,
  plan,
  options,
  takesText = false,
}: AskedQuestion): InferOutput<typeof Question> => ({
  requestId: id,
  title,
  kind,
  command,
  paths: [...paths],
  plan,
  options: [...options],
  takesText,
})

/** Agents that omit tokens: OpenCode all calls of a turn except the last, Gemini CLI its thoughts. */
const countedInPart = new Set(['opencode', 'gemini'])

const usage = ({
  agent,
  inputTokens,
  outputTokens,
  contextUsed,
  contextSize,
  costUsd,
}: SessionItem): InferOutput<typeof Usage> | null =>
  inputTokens + outputTokens === 0 && contextUsed === null && costUsd === null
    ? null
    : { inputTokens, outputTokens, exact: !countedInPart.has(agent), contextUsed, contextSize, costUsd }

/**
 * The content of a tool call's pieces, each with its new parts. `program` is the tool's name in the agent's own program.
 * `terminal` is appended: the output of a command since the previous piece.
 */
export type ToolPiece = Partial<InferOutput<typeof Tool>> & { content?: string; program?: string; terminal?: string }

/**
 * A message, folded from its pieces: texts are appended, a plan is replaced as a whole, a tool call takes over the fields of each
 * piece.
 */
export function message(row: MessageRow): MessageView {
  const pieces = JSON.parse(row.pieces) as unknown[]
  const attachments = (JSON.parse(row.attachments) as SentAttachment[]).map(({ id, filename }) => ({
    id: String(id),
    filename,
  }))
  const shared = { id: String(row.id), sessionId: String(row.sessionId), role: row.role, attachments, at: row.at }
  if (row.role === 'tool') return { ...shared, ...toolCall(row, pieces as ToolPiece[]) }
  const texts = pieces as string[]
  return {
    ...shared,
    content: (row.role === 'plan' ? (texts.at(-1) ?? '') : texts.join('')).toWellFormed(),
    tool: null,
  }
}

const terminalBlock = /^\[terminal [^\]]*\]$/

/** Merges the pieces of a tool call. If the agent reported no output, the terminal output becomes the output of the call. */
function toolCall({ callId }: MessageRow, pieces: readonly ToolPiece[]): Pick<MessageView, 'content' | 'tool'> {
  const nothing = { name: '', kind: 'other', status: 'pending', input: null, output: null, locations: [] }
  const { content, program, terminal, ...tool } = Object.assign({ ...nothing, content: '', program: '' }, ...pieces, {
    terminal: pieces
      .map(piece => piece.terminal ?? '')
      .join('')
      .toWellFormed(),
  }) as Required<ToolPiece>
  return {
    content: terminal !== '' && (content === '' || terminalBlock.test(content)) ? terminal : content,
    tool: {
      ...tool,
      output: tool.output ?? (terminal === '' ? null : terminal),
      name: tool.name || program || (tool.kind === 'other' ? '' : tool.kind) || callId || 'tool',
    },
  }
}
