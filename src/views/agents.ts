import type { InferOutput } from 'valibot'
import {
  AgentSession,
  AgentState,
  SessionSummary,
  type agents,
  type Message,
  type Permission,
  type Provider,
  type SlashCommand,
  type Tool,
  type Usage,
} from '../contract/agents.ts'
import type { Output } from '../contract/route.ts'
import {
  listedSessionFields,
  sessionFields,
  type ActiveAgentRow,
  type SessionItem,
  type SessionRow,
} from '../store/sessions.ts'
import type { MessageRow } from '../store/transcripts.ts'
import { viewOf } from './view.ts'

export type AgentSessionView = InferOutput<typeof AgentSession>
export type MessageView = InferOutput<typeof Message>

/** A card that never ran an agent, or an assistant that is not there yet. */
export const noSession = <Id extends number | null>(cardId: Id) => ({
  sessionId: null,
  cardId: (cardId === null ? null : String(cardId)) as Id extends null ? string | null : string,
  agent: null,
  status: 'idle' as const,
  statusReason: null,
  waitingFor: null,
  startedAt: null,
  endedAt: null,
  model: null,
  usage: null,
  summary: null,
  baseCommit: null,
  branch: null,
})

const questionsOf = ({ waitingFor }: SessionRow) =>
  waitingFor === null ? [] : (JSON.parse(waitingFor) as InferOutput<typeof AgentState>['questions'])
const stateOf = (row: SessionItem) => ({ sessionId: String(row.id), waitingFor: row.question, usage: usage(row) })

/** A session with the questions that wait for a person. */
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

/** A session condensed, for the history. */
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

/** An agent that the board knows, without what its environment holds. Its command line is for administrators. */
export const provider = (
  {
    provider: { id, name, protocol, command, install, credentials },
    installed,
  }: {
    provider: {
      id: string
      name: string
      protocol: 'acp' | 'command'
      command: readonly string[]
      install: string | null
      credentials: object
    }
    installed: boolean
  },
  forAdmin: boolean,
): InferOutput<typeof Provider> => ({
  id,
  name,
  protocol,
  command: forAdmin ? [...command] : null,
  installed,
  install,
  credentialProviders: Object.keys(credentials),
})

export const announcedCommands = ({ commands }: { commands: string }) =>
  JSON.parse(commands) as Array<InferOutput<typeof SlashCommand>>

/** A question of an open session, as its event tells it. */
export const permission = (
  row: Pick<SessionRow, 'id' | 'cardId'>,
  {
    id,
    title,
    kind,
    options,
  }: Pick<InferOutput<typeof Permission>, 'title' | 'kind'> & {
    id: string
    options: ReadonlyArray<InferOutput<typeof Permission>['options'][number]>
  },
): InferOutput<typeof Permission> => ({
  requestId: id,
  sessionId: String(row.id),
  cardId: String(row.cardId),
  title,
  kind,
  options: [...options],
})

const usage = ({
  inputTokens,
  outputTokens,
  contextUsed,
  contextSize,
  costUsd,
}: SessionItem): InferOutput<typeof Usage> | null =>
  inputTokens + outputTokens === 0 && contextUsed === null && costUsd === null
    ? null
    : { inputTokens, outputTokens, contextUsed, contextSize, costUsd }

/** What a tool call's pieces hold: each tells what is new of it. `program` is the tool's name in the agent's own program. */
export type ToolPiece = Partial<InferOutput<typeof Tool>> & { content?: string; program?: string }

/** A message, folded from its pieces: texts go on, a plan is replaced whole, a tool call takes over what each piece names. */
export function message(row: MessageRow): MessageView {
  const pieces = JSON.parse(row.pieces) as unknown[]
  const shared = { id: String(row.id), sessionId: String(row.sessionId), role: row.role, at: row.at }
  if (row.role === 'tool') {
    const { content, program, ...tool } = Object.assign(
      {
        name: '',
        kind: 'other',
        status: 'pending',
        input: null,
        output: null,
        locations: [],
        content: '',
        program: '',
      },
      ...(pieces as ToolPiece[]),
    ) as Required<ToolPiece>
    return {
      ...shared,
      content,
      tool: { ...tool, name: tool.name || program || (tool.kind === 'other' ? '' : tool.kind) || row.callId || 'tool' },
    }
  }
  const texts = pieces as string[]
  return {
    ...shared,
    content: (row.role === 'plan' ? (texts.at(-1) ?? '') : texts.join('')).toWellFormed(),
    tool: null,
  }
}
