import { randomBytes } from 'node:crypto'
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  RequestPermissionOutcome,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk'
import { traitsOf } from '../../contract/agents/boardTools.ts'
import { approvingOption } from '../../contract/agents/questionOptions.ts'
import type { AgentListener, PermissionOption, PermissionRequest, ToolNaming } from '../link/agentLink.ts'
import { toPlainLine } from '../link/failureReasons.ts'
import { awaitsName, boardToolOf } from './boardTool.ts'
import type { Conversation } from './conversation.ts'
import { fillForm } from './elicitationForm.ts'
import type { KnownCall } from './knownCall.ts'
import type { KnownCalls } from './knownCalls.ts'
import type { AskedCall, PermissionParams } from './permissionParams.ts'
import { requestTitle } from './toolCalls.ts'

const maxOpenRequests = 50
/** Claude Code names its tools within milliseconds. A user never waits longer than this for a name. */
const namingTimeoutMs = 2000

/** `written`: a text answer, for a question that accepts text. */
type Outcome = RequestPermissionOutcome | { outcome: 'written'; text: string }
type Answer = (outcome: Outcome) => void

/** The open permission requests of one agent. */
export interface PermissionRequests {
  /** Forwards a request to the listener and waits for the answer. A request without an answerable option is cancelled at once. */
  ask(params: PermissionParams, withdrawn: AbortSignal): Promise<RequestPermissionResponse>
  /** From now on, allows the board's own tools that run no command, without asking a user. */
  allowBoardTools(): void
  /** Forwards each field of a form as a question, and waits for the answers. */
  elicit(request: CreateElicitationRequest, withdrawn: AbortSignal): Promise<CreateElicitationResponse>
  answer(id: string, optionId: string | null, text?: string | null): boolean
  /** Cancels every open request. */
  cancelAll(): void
}

export function createPermissionRequests(
  listener: Pick<AgentListener, 'permission' | 'permissionWithdrawn'>,
  conversation: Pick<Conversation, 'turn'>,
  naming?: ToolNaming,
): PermissionRequests {
  const waiting = createWaiting(listener)
  let hasBoardTools = false
  return {
    async ask({ toolCall, options: choices }, withdrawn) {
      const { turn } = conversation
      const isPointless = () =>
        !turn || conversation.turn !== turn || turn.cancelled || waiting.isFull() || withdrawn.aborted
      if (isPointless() || choices.length === 0) return cancelled
      const call = await findCall(toolCall, turn!.calls)
      if (isPointless()) return cancelled
      const boardTool = hasBoardTools ? boardToolOf(toolCall, call, naming) : undefined
      const isHarmless = boardTool !== undefined && !traitsOf(boardTool).runsCommands
      // Never `allow_always`, which can cover every tool of the board, also those that run commands.
      const allowed = isHarmless ? approvingOption(choices) : undefined
      if (allowed) return { outcome: { outcome: 'selected', optionId: allowed.id } }
      const request: Omit<PermissionRequest, 'id'> = {
        toolCallId: toolCall.toolCallId,
        title: titleFor(toolCall, call, choices, naming),
        kind: toolCall.kind ?? 'other',
        options: choices,
        ...call.subject,
        about: aboutOf(toolCall, call, boardTool !== undefined),
      }
      const outcome = await waiting.add(request, withdrawn)
      return outcome.outcome === 'written' ? cancelled : { outcome }
    },
    elicit(form, withdrawn) {
      const { turn } = conversation
      const isOver = () => !turn || conversation.turn !== turn || turn.cancelled || withdrawn.aborted
      return fillForm(form, async question => {
        if (isOver() || waiting.isFull()) return undefined
        const outcome = await waiting.add(question, withdrawn)
        if (outcome.outcome === 'written') return { text: outcome.text }
        if (outcome.outcome === 'cancelled') return isOver() ? undefined : null
        const chosen = question.options.find(({ id }) => id === outcome.optionId)
        return chosen?.kind.startsWith('reject') ? null : { optionId: outcome.optionId }
      })
    },
    allowBoardTools: () => {
      hasBoardTools = true
    },
    answer: waiting.answer,
    cancelAll: waiting.cancelAll,
  }
}

/** The requests that wait for an answer. */
function createWaiting(listener: Pick<AgentListener, 'permission' | 'permissionWithdrawn'>) {
  const open = new Map<string, { options: readonly PermissionOption[]; takesText?: boolean; answer: Answer }>()
  const close = (id: string, outcome: Outcome): boolean => {
    const request = open.get(id)
    request?.answer(outcome)
    return open.delete(id)
  }
  const withdraw = (id: string) => {
    if (close(id, { outcome: 'cancelled' })) listener.permissionWithdrawn(id)
  }
  return {
    isFull: () => open.size >= maxOpenRequests,
    add(request: Omit<PermissionRequest, 'id'>, withdrawn: AbortSignal): Promise<Outcome> {
      // Random, so that an answer to a request of an earlier run cannot match a request of this run.
      const id = randomBytes(6).toString('hex')
      const answered = new Promise<Outcome>(answer =>
        open.set(id, { options: request.options, takesText: request.takesText, answer }),
      )
      withdrawn.addEventListener('abort', () => withdraw(id), { once: true })
      listener.permission({ id, ...request })
      return answered
    },
    answer(id: string, optionId: string | null, text: string | null = null): boolean {
      const request = open.get(id)
      if (text !== null) return request?.takesText === true && close(id, { outcome: 'written', text })
      if (!request || (optionId !== null && !request.options.some(option => option.id === optionId))) return false
      return close(id, optionId === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId })
    },
    cancelAll: () => [...open.keys()].forEach(withdraw),
  }
}

const cancelled: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } }

/** The call that a request is about. The request is itself part of the call's data, and was recorded before. */
const findCall = (toolCall: AskedCall, calls: KnownCalls): KnownCall | Promise<KnownCall> => {
  const call = calls.find(toolCall.toolCallId)
  return awaitsName(toolCall, call) ? calls.untilNamed(toolCall.toolCallId, namingTimeoutMs) : call
}

/**
 * Gemini CLI uses the command in the tool input as the title of an MCP tool call. The function name in the call's ID identifies
 * the tool.
 */
function titleFor(
  toolCall: AskedCall,
  { names }: KnownCall,
  choices: readonly PermissionOption[],
  naming: ToolNaming | undefined,
): string {
  const title = requestTitle(toolCall, names, choices)
  const [name, call] = toolCall.toolCallId.split('__')
  const isHidden =
    naming === 'call_id' && toolCall.kind === 'other' && call !== undefined && !title.endsWith(' MCP Server)')
  return isHidden ? toPlainLine(`${name}: ${title}`) : title
}

/**
 * The subject of a request, derived from the call's kind as the agent's program reports it. A tool of an MCP server other than
 * the board can do anything, regardless of its input.
 */
function aboutOf(
  { kind }: AskedCall,
  { names, isServerTool, isOver, isUnsandboxed, subject }: KnownCall,
  isBoardTool: boolean,
): PermissionRequest['about'] {
  if (isUnsandboxed) return 'unsandboxed'
  if (isBoardTool) return 'other'
  if (kind === 'switch_mode') return 'plan'
  if (isOver || isServerTool || names.some(name => name.startsWith('mcp'))) return 'other'
  if (kind === 'execute') return subject.command === null ? 'other' : 'command'
  return (kind === 'edit' || kind === 'read') && subject.command === null && subject.paths.length > 0 ? kind : 'other'
}
