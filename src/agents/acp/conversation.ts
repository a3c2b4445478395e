import { setTimeout as delay } from 'node:timers/promises'
import { AgentFailure, type AgentListener, type RawUpdate, type TurnUsage } from '../link/agentLink.ts'
import type { RawListener } from './jsonRpcStream.ts'
import type { KnownCalls } from './knownCalls.ts'
import { addUsage, usageOfUpdate } from './turnUsage.ts'
import { type Json } from '../link/json.ts'

const maxEarlyUpdates = 1000
const maxEarlyBytes = 8 * 1024 * 1024
const maxTextLength = 2000
const maxStates = 20
/** A replay counts as finished after this pause. Updates within a replay follow each other faster. */
const replayPauseMs = 100
const maxReplayMs = 5000
/** The kinds of updates that an agent replays when it loads a session. The board already has these updates. */
const replayedKinds = new Set([
  'user_message_chunk',
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'plan',
])

/** The turn that is running. */
export interface Turn {
  cancelled: boolean
  usage: TurnUsage | null
  /** The agent's words after its last tool call, and the last piece of them. */
  lastMessage: string
  lastChunk: string
  /** The `_meta` of the newest updates of the session's state. */
  states: unknown[]
  usedTools: boolean
  calls: KnownCalls
}

/** The session of a connection. Decides which updates reach the listener. */
export interface Conversation {
  readonly rawListener: Omit<RawListener, 'onInvalidLine'>
  readonly sessionId: string | null
  /** Whether the agent has sent any message of the protocol. */
  readonly begun: boolean
  turn: Turn | null
  /** Sets the session whose updates count. Null stands for the session that the agent will name in its response. */
  setSession(sessionId: string | null): void
  /** Resolves when an agent has replayed a loaded session's history, or after 5 s. Some agents continue the replay after their response. */
  untilReplayed(): Promise<void>
  /** Drops all later updates. */
  stop(): void
}

interface State {
  sessionId: string | null
  replaying: boolean
  /** When an update was last dropped because the agent replayed it. */
  replayedAt: number
  begun: boolean
  stopped: boolean
  turn: Turn | null
}

export function createConversation(listener: AgentListener): Conversation {
  const state: State = { sessionId: null, replaying: false, replayedAt: 0, begun: false, stopped: false, turn: null }
  return {
    rawListener: createRawListener(state, listener),
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
      state.replaying = false
      state.turn = turn
    },
    setSession: sessionId => Object.assign(state, { sessionId, replaying: sessionId !== null }),
    async untilReplayed() {
      const since = (state.replayedAt = performance.now())
      while (performance.now() - state.replayedAt < replayPauseMs && performance.now() - since < maxReplayMs)
        await delay(replayPauseMs / 4)
    },
    stop: () => {
      state.stopped = true
    },
  }
}

function createRawListener(state: State, listener: AgentListener): Conversation['rawListener'] {
  const early = createEarlyUpdates()
  const deliver = (update: RawUpdate): void | Promise<void> => {
    if (state.stopped) return
    if (state.replaying && replayedKinds.has(update.sessionUpdate)) {
      state.replayedAt = performance.now()
      return
    }
    if (state.turn) recordUpdate(state.turn, update)
    return listener.update(update)
  }
  const begin = async (sessionId: unknown) => {
    if (typeof sessionId !== 'string' || sessionId === '') return
    state.sessionId = sessionId
    for (const update of early.takeEarly(sessionId)) await deliver(update)
  }
  return {
    update(sessionId, update, bytes) {
      state.begun = true
      if (state.sessionId === null) return early.holdEarly(sessionId, update, bytes)
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
    response(method, result) {
      state.begun = true
      return method === 'session/new' ? begin((result as Json | null)?.sessionId) : undefined
    },
  }
}

/** Updates can arrive before the response that names their session. */
function createEarlyUpdates() {
  let kept: { sessionId: string; update: RawUpdate }[] = []
  let keptBytes = 0
  return {
    holdEarly(sessionId: string, update: RawUpdate, bytes: number): void {
      kept.push({ sessionId, update })
      keptBytes += bytes
      if (kept.length > maxEarlyUpdates || keptBytes > maxEarlyBytes)
        throw new AgentFailure('protocol_violation', 'The agent sent too many updates before its session was open.')
    },
    takeEarly(sessionId: string): RawUpdate[] {
      const mine = kept.filter(each => each.sessionId === sessionId).map(({ update }) => update)
      kept = []
      return mine
    },
  }
}

function recordUpdate(turn: Turn, update: RawUpdate): void {
  const { _meta: state, sessionUpdate } = update
  turn.usage = addUsage(turn.usage, usageOfUpdate(update))
  if (update.sessionUpdate.startsWith('tool_call')) {
    turn.usedTools = true
    if (update.sessionUpdate === 'tool_call') turn.lastMessage = ''
    turn.calls.record(update)
  }
  if (sessionUpdate === 'session_info_update') turn.states = [...turn.states, state].slice(-maxStates)
  if (update.sessionUpdate !== 'agent_message_chunk') return
  const text = (update.content as Json | null | undefined)?.text
  if (typeof text !== 'string') return
  turn.lastChunk = text.slice(0, maxTextLength)
  if (turn.lastMessage.length <= maxTextLength) turn.lastMessage += text.slice(0, maxTextLength)
}

export const newTurn = (calls: KnownCalls): Turn => ({
  cancelled: false,
  usage: null,
  lastMessage: '',
  lastChunk: '',
  states: [],
  usedTools: false,
  calls,
})
