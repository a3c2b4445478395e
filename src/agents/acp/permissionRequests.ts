import { randomBytes } from 'node:crypto'
import type { RequestPermissionOutcome, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { Conversation } from './conversation.ts'
import { shown } from '../link/failureReasons.ts'
import { needsNoPermission, questionOf } from './toolCalls.ts'
import type { AgentListener, PermissionOption } from '../link/agentLink.ts'

const mostOpen = 50
const mostOptions = 20
const longestId = 1000

type Answer = (outcome: RequestPermissionOutcome) => void

type ToolCall = Readonly<Record<string, unknown>> & { toolCallId: string; kind?: string | null }

/** The questions of one agent that wait for an answer. */
export interface Permissions {
  /** Puts a question to the listener and waits for the answer. One that nobody can answer is answered at once. */
  ask(
    params: { toolCall: ToolCall; options: readonly { optionId: string; name: string; kind: string }[] },
    withdrawn: AbortSignal,
  ): Promise<RequestPermissionResponse>
  /** From here on the agent has the board's own tools, and needs no person's permission to use those that run no command. */
  allowBoardTools(): void
  answer(id: string, optionId: string | null): boolean
  /** Answers every open question with none of its options. */
  cancelAll(): void
}

export function createPermissions(
  listener: Pick<AgentListener, 'permission' | 'permissionWithdrawn'>,
  conversation: Pick<Conversation, 'turn'>,
): Permissions {
  const open = new Map<string, { options: readonly PermissionOption[]; answer: Answer }>()
  let hasBoardTools = false
  const close = (id: string, outcome: RequestPermissionOutcome) => {
    const question = open.get(id)
    open.delete(id)
    question?.answer(outcome)
  }
  return {
    async ask({ toolCall, options }, withdrawn) {
      const choices = options
        .slice(0, mostOptions)
        .filter(({ optionId }) => optionId.length <= longestId)
        .map(({ optionId, name, kind }) => ({ id: optionId, name: shown(name) || optionId, kind }))
      const { turn } = conversation
      if (!turn || turn.cancelled || choices.length === 0 || open.size >= mostOpen || withdrawn.aborted)
        return { outcome: { outcome: 'cancelled' } }
      const names = turn.tools.get(toolCall.toolCallId) ?? []
      const allowed = hasBoardTools && needsNoPermission(names) ? optionToAllow(choices) : undefined
      if (allowed) return { outcome: { outcome: 'selected', optionId: allowed.id } }
      // An answer to a question of an earlier run must fit none of this one.
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
        title: questionOf(toolCall, names, choices),
        kind: toolCall.kind ?? 'other',
        options: choices,
      })
      return { outcome: await answered }
    },
    allowBoardTools: () => {
      hasBoardTools = true
    },
    answer(id, optionId) {
      const question = open.get(id)
      if (!question || (optionId !== null && !question.options.some(option => option.id === optionId))) return false
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

/** Allowing it always might be about every tool of the board, also those that run commands. */
const optionToAllow = (options: readonly PermissionOption[]): PermissionOption | undefined =>
  options.find(({ kind }) => kind === 'allow_once')
