import { randomBytes } from 'node:crypto'
import type { RequestPermissionOutcome, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { AgentListener, PermissionOption } from '../link/agentLink.ts'
import { toPlainLine } from '../link/failureReasons.ts'
import type { Conversation } from './conversation.ts'
import { needsNoPermission, requestTitle } from './toolCalls.ts'

const maxOpenRequests = 50
const maxOptions = 20
const maxIdLength = 1000

type Answer = (outcome: RequestPermissionOutcome) => void

interface RawOption {
  optionId: string
  name: string
  kind: string
}
type ToolCall = Readonly<Record<string, unknown>> & { toolCallId: string; kind?: string | null }

/** The open permission requests of one agent. */
export interface PermissionRequests {
  /** Passes a request to the listener and waits for the answer. A request that nobody can answer is cancelled at once. */
  ask(
    params: { toolCall: ToolCall; options: readonly RawOption[] },
    withdrawn: AbortSignal,
  ): Promise<RequestPermissionResponse>
  /** From here on the board's own tools that run no command are allowed without a person. */
  allowBoardTools(): void
  answer(id: string, optionId: string | null): boolean
  /** Cancels every open request. */
  cancelAll(): void
}

export function createPermissionRequests(
  listener: Pick<AgentListener, 'permission' | 'permissionWithdrawn'>,
  conversation: Pick<Conversation, 'turn'>,
): PermissionRequests {
  const open = new Map<string, { options: readonly PermissionOption[]; answer: Answer }>()
  let hasBoardTools = false
  const close = (id: string, outcome: RequestPermissionOutcome) => {
    const request = open.get(id)
    open.delete(id)
    request?.answer(outcome)
  }
  return {
    async ask({ toolCall, options }, withdrawn) {
      const choices = parseOptions(options)
      const { turn } = conversation
      if (!turn || turn.cancelled || choices.length === 0 || open.size >= maxOpenRequests || withdrawn.aborted)
        return { outcome: { outcome: 'cancelled' } }
      const names = turn.tools.get(toolCall.toolCallId) ?? []
      const allowed = hasBoardTools && needsNoPermission(names) ? optionToAllow(choices) : undefined
      if (allowed) return { outcome: { outcome: 'selected', optionId: allowed.id } }
      // Random, so that an answer to a request of an earlier run matches none of this one.
      const id = randomBytes(6).toString('hex')
      const answered = new Promise<RequestPermissionOutcome>(answer => open.set(id, { options: choices, answer }))
      withdrawn.addEventListener(
        'abort',
        () => {
          if (open.has(id)) {
            close(id, { outcome: 'cancelled' })
            listener.permissionWithdrawn(id)
          }
        },
        { once: true },
      )
      listener.permission({
        id,
        toolCallId: toolCall.toolCallId,
        title: requestTitle(toolCall, names, choices),
        kind: toolCall.kind ?? 'other',
        options: choices,
      })
      return { outcome: await answered }
    },
    allowBoardTools: () => {
      hasBoardTools = true
    },
    answer(id, optionId) {
      const request = open.get(id)
      if (!request || (optionId !== null && !request.options.some(option => option.id === optionId))) return false
      close(id, optionId === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId })
      return true
    },
    cancelAll: () => {
      for (const id of open.keys()) {
        close(id, { outcome: 'cancelled' })
        listener.permissionWithdrawn(id)
      }
    },
  }
}

/** Only `allow_once`: `allow_always` may cover every tool of the board, those that run commands included. */
const optionToAllow = (options: readonly PermissionOption[]): PermissionOption | undefined =>
  options.find(({ kind }) => kind === 'allow_once')

const parseOptions = (options: readonly RawOption[]): PermissionOption[] =>
  options
    .slice(0, maxOptions)
    .filter(({ optionId }) => optionId.length <= maxIdLength)
    .map(({ optionId, name, kind }) => ({ id: optionId, name: toPlainLine(name) || optionId, kind }))
