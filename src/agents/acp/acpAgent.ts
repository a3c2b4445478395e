import type { AgentLaunch, AgentLink, AgentListener, SpawnAgent, TurnEnd, TurnUsage } from '../link/agentLink.ts'
import { asLaunchFailure } from '../link/exitFailures.ts'
import { checkStopReason } from '../link/failureReasons.ts'
import { connectAcp, type AcpConnection } from './acpConnection.ts'
import { openSession, setInitialOptions } from './acpSession.ts'
import { initialize, type Handshake } from './handshake.ts'
import { addUsage, usageOfTurn, usageSince } from './turnUsage.ts'

/** How long an agent may take to initialize, and to open a session. */
export interface AcpTimeouts {
  initializeMs: number
  sessionMs: number
}
export const acpTimeouts: AcpTimeouts = { initializeMs: 60_000, sessionMs: 120_000 }

/**
 * Starts an agent and initializes it over the Agent Client Protocol. On failure its process may still run.
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
        const { session, resumed } = await openSession(launch, connection, handshake, sessionTimeoutMs, resume)
        const { mode, setMode, ...rest } = await setInitialOptions(launch, connection, session, sessionTimeoutMs)
        sendMode = setMode
        return { sessionId: conversation.sessionId, resumed, mode, ...rest }
      } catch (error) {
        throw await failures.explain(error, 'launch_failed')
      }
    },
    prompt: createPrompt(launch, connection),
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
    close: connection.close,
  }
}

function createPrompt(
  { usageIsCumulative }: AgentLaunch,
  { conversation, permissions, failures, request }: AcpConnection,
): AgentLink['prompt'] {
  let counted: TurnUsage | null = null
  const countUsage = (given: TurnUsage | null): TurnUsage | null => {
    if (!given || !usageIsCumulative) return given
    const since = usageSince(given, counted)
    counted = given
    return since
  }
  return async function prompt(text): Promise<TurnEnd> {
    if (conversation.turn) throw new Error('The agent is in the middle of a turn.')
    const turn = (conversation.turn = {
      cancelled: false,
      usage: null as TurnUsage | null,
      text: '',
      usedTools: false,
      tools: new Map(),
    })
    try {
      const response = await request('session/prompt', {
        sessionId: conversation.sessionId,
        prompt: [{ type: 'text', text }],
      })
      const usage = countUsage(usageOfTurn(response)) ?? addUsage(turn.usage, null)
      return {
        stopReason: turn.cancelled
          ? 'cancelled'
          : checkStopReason((response as { stopReason?: unknown } | null)?.stopReason, turn.usedTools ? '' : turn.text),
        usage,
      }
    } catch (error) {
      if (turn.cancelled) return { stopReason: 'cancelled', usage: turn.usage }
      throw await failures.explain(error, 'crashed')
    } finally {
      conversation.turn = null
      permissions.cancelAll()
    }
  }
}
