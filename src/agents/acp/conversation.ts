import { toolNames } from './toolCalls.ts'
import { addUsage, usageOfUpdate } from './turnUsage.ts'
import { AgentFailure, type AgentListener, type RawUpdate, type TurnUsage } from '../link/agentLink.ts'
import type { Tap } from './jsonRpcStream.ts'

const mostEarlyUpdates = 1000
const mostEarlyBytes = 8 * 1024 * 1024
const longestRemembered = 500
const mostCalls = 500
const mostNames = 10
/** What a session that is loaded tells again of its past, which the board has already. */
const pastKinds = new Set([
  'user_message_chunk',
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'plan',
])

/** What is remembered of a turn while it runs. `tools` are the names of the tools of its newest calls, by the call's id. */
export interface Turn {
  cancelled: boolean
  usage: TurnUsage | null
  text: string
  usedTools: boolean
  tools: Map<string, readonly string[]>
}

/** Which session is spoken in, and what of it reaches the listener. */
export interface Conversation {
  readonly tap: Omit<Tap, 'stray'>
  readonly sessionId: string | null
  /** Whether anything came that is of the protocol. */
  readonly begun: boolean
  turn: Turn | null
  /** Waits for what is told in a session of this id; null: in the one that the agent will name. */
  expect(sessionId: string | null): void
  /** Hears nothing more. */
  stop(): void
}

type Json = Record<string, unknown>

interface State {
  sessionId: string | null
  replaying: boolean
  begun: boolean
  stopped: boolean
  turn: Turn | null
}

export function createConversation(listener: AgentListener): Conversation {
  const state: State = { sessionId: null, replaying: false, begun: false, stopped: false, turn: null }
  return {
    tap: createTap(state, listener),
    get sessionId() {
      return state.sessionId
    },
    get begun() {
      return state.begun
    },
    get turn() {
      return state.turn
    },
    set turn(turn) {
      state.turn = turn
    },
    expect: sessionId => Object.assign(state, { sessionId, replaying: sessionId !== null }),
    stop: () => {
      state.stopped = true
    },
  }
}

function createTap(state: State, listener: AgentListener): Conversation['tap'] {
  const early = createEarlyUpdates()
  const deliver = (update: RawUpdate): void | Promise<void> => {
    if (state.stopped || (state.replaying && pastKinds.has(update.sessionUpdate))) return
    if (state.turn) remember(state.turn, update)
    return listener.update(update)
  }
  const begin = async (sessionId: unknown) => {
    if (typeof sessionId !== 'string' || sessionId === '') return
    state.sessionId = sessionId
    for (const update of early.take(sessionId)) await deliver(update)
  }
  return {
    update(sessionId, update, bytes) {
      state.begun = true
      if (state.sessionId === null) return early.keep(sessionId, update, bytes)
      return sessionId === state.sessionId ? deliver(update) : undefined
    },
    request(method, params) {
      state.begun = true
      const toolCall =
        method === 'session/request_permission' &&
        (params as Json | null)?.sessionId === state.sessionId &&
        (params as Json).toolCall
      return toolCall && typeof (toolCall as Json).toolCallId === 'string'
        ? deliver({ ...toolCall, sessionUpdate: 'tool_call_update' })
        : undefined
    },
    answer(method, result) {
      state.begun = true
      state.replaying = false
      return method === 'session/new' ? begin((result as Json | null)?.sessionId) : undefined
    },
  }
}

/** What is told before the answer that names the session. */
function createEarlyUpdates() {
  let kept: { sessionId: string; update: RawUpdate }[] = []
  let keptBytes = 0
  return {
    keep(sessionId: string, update: RawUpdate, bytes: number): void {
      kept.push({ sessionId, update })
      keptBytes += bytes
      if (kept.length > mostEarlyUpdates || keptBytes > mostEarlyBytes)
        throw new AgentFailure('protocol_violation', 'The agent said too much before its session was open.')
    },
    take(sessionId: string): RawUpdate[] {
      const mine = kept.filter(each => each.sessionId === sessionId).map(({ update }) => update)
      kept = []
      return mine
    },
  }
}

function remember(turn: Turn, update: RawUpdate): void {
  turn.usage = addUsage(turn.usage, usageOfUpdate(update))
  if (update.sessionUpdate.startsWith('tool_call')) rememberCall(turn, update)
  if (update.sessionUpdate !== 'agent_message_chunk' || turn.text.length > longestRemembered) return
  const text = (update.content as Json | null | undefined)?.text
  if (typeof text === 'string') turn.text += text.slice(0, longestRemembered + 1)
}

function rememberCall(turn: Turn, update: RawUpdate): void {
  turn.usedTools = true
  const { toolCallId } = update
  if (typeof toolCallId !== 'string' || toolCallId.length > longestRemembered) return
  const known = turn.tools.get(toolCallId) ?? []
  turn.tools.set(toolCallId, [...new Set([...known, ...toolNames(update)])].slice(0, mostNames))
  if (turn.tools.size > mostCalls) turn.tools.delete(turn.tools.keys().next().value!)
}
