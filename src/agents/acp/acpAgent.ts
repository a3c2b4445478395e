import { setTimeout as delay } from 'node:timers/promises'
import {
  AgentFailure,
  type AgentLaunch,
  type AgentLink,
  type AgentListener,
  type SpawnAgent,
  type TurnEnd,
  type TurnUsage,
} from '../link/agentLink.ts'
import { asLaunchFailure } from '../link/exitFailures.ts'
import { judgeTurn } from '../link/turnVerdict.ts'
import { connectAcp, type AcpConnection } from './acpConnection.ts'
import { newTurn } from './conversation.ts'
import { openSession, setInitialOptions } from './acpSession.ts'
import { initialize, type Handshake } from './handshake.ts'
import { createKnownCalls } from './knownCalls.ts'
import { promptBlocks, textOnly } from './promptBlocks.ts'
import { usageOfTurn, usageSince } from './turnUsage.ts'

/** The time limits for an agent to initialize and to open a session. */
export interface AcpTimeouts {
  initializeMs: number
  sessionMs: number
}
export const acpTimeouts: AcpTimeouts = { initializeMs: 60_000, sessionMs: 120_000 }

/**
 * Starts an agent and initializes it over the Agent Client Protocol. If this fails, the agent's process can still be running.
 * @throws AgentFailure launch_failed, protocol_violation, timeout, usage_limit
 */
export async function openAcp(
  launch: AgentLaunch,
  listener: AgentListener,
  spawn: SpawnAgent,
  timeouts: AcpTimeouts,
): Promise<AgentLink> {
  const child = await spawn(launch).catch(error => {
    throw asLaunchFailure(error)
  })
  const connection = connectAcp(launch, listener, child)
  try {
    const handshake = await initialize(connection, timeouts.initializeMs)
    return { ...createLink(launch, connection, handshake, timeouts.sessionMs), exited: child.exited }
  } catch (error) {
    connection.close()
    throw await connection.failures.explain(error, 'launch_failed')
  }
}

function createLink(
  launch: AgentLaunch,
  connection: AcpConnection,
  handshake: Handshake,
  sessionTimeoutMs: number,
): Omit<AgentLink, 'exited'> {
  const { conversation, permissions, failures, tail } = connection
  let sendMode: ((id: string) => Promise<unknown>) | undefined
  return {
    info: handshake.info,
    capabilities: handshake.capabilities,
    async start(resume = null) {
      try {
        const { session, resumed, refusal } = await openSession(launch, connection, handshake, sessionTimeoutMs, resume)
        const { mode, setMode, ...rest } = await setInitialOptions(launch, connection, session, sessionTimeoutMs)
        sendMode = setMode
        return {
          sessionId: conversation.sessionId,
          resumed,
          ...(refusal !== undefined && { refusal: (await failures.explain(refusal, 'launch_failed')).message }),
          mode,
          ...rest,
        }
      } catch (error) {
        throw await failures.explain(error, 'launch_failed')
      }
    },
    prompt: createPrompt(launch, connection, handshake),
    async cancel() {
      if (!conversation.turn || conversation.turn.cancelled) return
      conversation.turn.cancelled = true
      await connection.notify('session/cancel', { sessionId: conversation.sessionId }).catch(() => {})
      permissions.cancelAll()
    },
    answerPermission: permissions.answer,
    async setMode(id) {
      try {
        await sendMode?.(id)
      } catch (error) {
        throw await failures.explain(error, 'crashed')
      }
    },
    stderrTail: tail.text,
    stderrWritten: tail.byteCount,
    receiveLate: async (limitMs, signal) => {
      const time = delay(limitMs, undefined, { ref: false, signal }).catch(() => {})
      await Promise.race([connection.outputEnded, time])
    },
    close: connection.close,
  }
}

function createPrompt(
  { usageIsCumulative, toolNaming, failedTurn }: AgentLaunch,
  { conversation, permissions, failures, request }: AcpConnection,
  { prompts }: Handshake,
): AgentLink['prompt'] {
  let counted: TurnUsage | null = null
  const countUsage = (given: TurnUsage | null): TurnUsage | null => {
    if (!given || !usageIsCumulative) return given
    const since = usageSince(given, counted)
    counted = given
    return since
  }
  return async function prompt(text, files = []): Promise<TurnEnd> {
    if (conversation.turn) throw new Error('The agent is in the middle of a turn.')
    const turn = (conversation.turn = newTurn(createKnownCalls(toolNaming)))
    try {
      // A prompt without files is built synchronously, so that a cancellation that follows is sent after the prompt.
      const blocks = files.length === 0 ? [textOnly(text)] : await promptBlocks(text, files, prompts)
      if (turn.cancelled) return { stopReason: 'cancelled', usage: null }
      const response = await request('session/prompt', { sessionId: conversation.sessionId, prompt: blocks })
      const told = usageOfTurn(response)
      const usage = countUsage(told) ?? turn.usage
      if (turn.cancelled) return { stopReason: 'cancelled', usage }
      const { stopReason } = (response ?? {}) as { stopReason?: unknown }
      return judgeTurn(stopReason, { ...turn, usage, responseHasUsage: told !== null }, failedTurn)
    } catch (error) {
      if (turn.cancelled) return { stopReason: 'cancelled', usage: turn.usage }
      const failure = await failures.explain(error, 'crashed')
      throw error instanceof AgentFailure ? failure.after(error.usage) : failure.after(turn.usage)
    } finally {
      conversation.turn = null
      permissions.cancelAll()
    }
  }
}
