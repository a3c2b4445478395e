import { addUsage, usageOfUpdate } from './usage.ts'
import { AgentFailure, type AgentListener, type RawUpdate, type TurnUsage } from './types.ts'
import type { Tap } from './wire.ts'

const mostEarlyUpdates = 1000
const mostEarlyBytes = 8 * 1024 * 1024
const longestRemembered = 500
/** What a session that is loaded tells again of its past, which the board has already. */
const pastKinds = new Set(['user_message_chunk', 'agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan'])

/** What is remembered of a turn while it runs. */
export interface Turn { cancelled: boolean; usage: TurnUsage | null; text: string; usedTools: boolean }

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

export function createConversation(listener: AgentListener): Conversation {
  let sessionId: string | null = null
  let early: { sessionId: string; update: RawUpdate }[] = []
  let earlyBytes = 0
  let replaying = false
  let begun = false
  let stopped = false
  let turn: Turn | null = null

  function keepForLater(of: string, update: RawUpdate, bytes: number): void {
    early.push({ sessionId: of, update })
    earlyBytes += bytes
    if (early.length > mostEarlyUpdates || earlyBytes > mostEarlyBytes) throw new AgentFailure('protocol_violation', 'The agent said too much before its session was open.')
  }
  function deliver(update: RawUpdate): void | Promise<void> {
    if (stopped || (replaying && pastKinds.has(update.sessionUpdate))) return
    if (turn) remember(turn, update)
    return listener.update(update)
  }
  async function name(answer: unknown): Promise<void> {
    const given = (answer as Json | null)?.sessionId
    if (typeof given !== 'string' || given === '') return
    sessionId = given
    const mine = early.filter(each => each.sessionId === given)
    early = []
    for (const { update } of mine) await deliver(update)
  }

  return {
    tap: {
      update(of, update, bytes) {
        begun = true
        if (sessionId === null) return keepForLater(of, update, bytes)
        return of === sessionId ? deliver(update) : undefined
      },
      request(method, params) {
        begun = true
        const toolCall = method === 'session/request_permission' && (params as Json | null)?.sessionId === sessionId && (params as Json).toolCall
        if (toolCall && typeof (toolCall as Json).toolCallId === 'string') return deliver({ ...toolCall, sessionUpdate: 'tool_call_update' })
      },
      answer(method, result) {
        begun = true
        replaying = false
        return method === 'session/new' ? name(result) : undefined
      },
    },
    get sessionId() { return sessionId },
    get begun() { return begun },
    get turn() { return turn },
    set turn(next) { turn = next },
    expect(of) {
      sessionId = of
      replaying = of !== null
    },
    stop: () => { stopped = true },
  }
}

function remember(turn: Turn, update: RawUpdate): void {
  turn.usage = addUsage(turn.usage, usageOfUpdate(update))
  if (update.sessionUpdate.startsWith('tool_call')) turn.usedTools = true
  if (update.sessionUpdate !== 'agent_message_chunk' || turn.text.length > longestRemembered) return
  const text = (update.content as Json | null | undefined)?.text
  if (typeof text === 'string') turn.text += text.slice(0, longestRemembered + 1)
}
