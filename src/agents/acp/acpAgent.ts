import { version } from '../../config/version.ts'
import { readChoices } from './sessionModes.ts'
import { connect, type Connection } from './acpConnection.ts'
import { notStarted } from '../link/exitFailures.ts'
import { checkStopReason, isAuthRequired, notSignedIn } from '../link/failureReasons.ts'
import {
  AgentFailure,
  type AgentCapabilities,
  type AgentLaunch,
  type AgentLink,
  type AgentListener,
  type SpawnAgent,
  type StartedSession,
  type TurnEnd,
  type TurnUsage,
} from '../link/agentLink.ts'
import { boardServer } from './toolCalls.ts'
import { addUsage, usageOfTurn, usageSince } from './turnUsage.ts'

const protocolVersion = 1

/** How long an agent may take to greet, and to open a session. */
export interface AcpLimits {
  initializeMs: number
  sessionMs: number
}
export const acpLimits: AcpLimits = { initializeMs: 60_000, sessionMs: 120_000 }

/** What an agent said of itself. `reopen` are the requests by which it goes on with a session, best first. */
interface Greeting {
  info: AgentLink['info']
  capabilities: AgentCapabilities
  reopen: readonly string[]
  authMethods: readonly string[]
}
type Json = Record<string, unknown>
const record = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

/**
 * Starts an agent and greets it over the Agent Client Protocol. When this fails, the process may still run.
 * @throws AgentFailure launch_failed, protocol_violation, timeout, usage_limit
 */
export async function openAcp(
  launch: AgentLaunch,
  listener: AgentListener,
  spawn: SpawnAgent,
  limits: AcpLimits,
): Promise<AgentLink> {
  const child = await spawn(launch).catch(error => {
    throw notStarted(error)
  })
  const connection = connect(launch, listener, child)
  try {
    const greeting = await greet(connection, limits)
    return { ...createLink(launch, connection, greeting, limits), exited: child.exited }
  } catch (error) {
    connection.close()
    throw await connection.endings.explain(error, 'launch_failed')
  }
}

/** The agent works in its folder with its own tools: the board offers it neither files nor terminals. */
async function greet({ request }: Connection, { initializeMs }: AcpLimits): Promise<Greeting> {
  const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false }
  const answer = record(
    await request(
      'initialize',
      { protocolVersion, clientCapabilities, clientInfo: { name: 'board', title: 'Board', version } },
      initializeMs,
    ),
  )
  if (answer.protocolVersion !== protocolVersion)
    throw new AgentFailure(
      'protocol_violation',
      `The agent does not speak version ${protocolVersion} of the Agent Client Protocol.`,
    )
  const offered = record(answer.agentCapabilities)
  const reopen = [
    record(offered.sessionCapabilities).resume ? 'session/resume' : [],
    offered.loadSession === true ? 'session/load' : [],
  ].flat()
  const word = (value: unknown) => (typeof value === 'string' ? value.slice(0, 200) : null)
  return {
    info: {
      name: word(record(answer.agentInfo).title) ?? word(record(answer.agentInfo).name),
      version: word(record(answer.agentInfo).version),
    },
    capabilities: { resume: reopen.length > 0, tools: record(offered.mcpCapabilities).http === true, followUps: true },
    reopen,
    authMethods: (Array.isArray(answer.authMethods) ? answer.authMethods : []).flatMap(method =>
      typeof record(method).id === 'string' ? [record(method).id as string] : [],
    ),
  }
}

function createLink(
  launch: AgentLaunch,
  connection: Connection,
  greeting: Greeting,
  limits: AcpLimits,
): Omit<AgentLink, 'exited'> {
  const { conversation, permissions, endings, tail } = connection
  let setModeRequest: ((id: string) => Promise<unknown>) | undefined
  return {
    info: greeting.info,
    capabilities: greeting.capabilities,
    async start(resume = null) {
      try {
        const { session, resumed } = await openSession(launch, connection, greeting, limits, resume)
        const { mode, choose, ...rest } = await chooseFirst(launch, connection, session, limits)
        setModeRequest = choose
        return { sessionId: conversation.sessionId, resumed, mode, ...rest }
      } catch (error) {
        throw await endings.explain(error, 'launch_failed')
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
        await setModeRequest?.(id)
      } catch (error) {
        throw await endings.explain(error, 'crashed')
      }
    },
    stderrTail: tail.text,
    close: connection.close,
  }
}

/** Opens a session. One that the agent no longer knows is opened anew; a way to go on that it only announces (Qwen Code 0.15 does so) gives way to the next. */
async function openSession(
  launch: AgentLaunch,
  connection: Connection,
  { capabilities, reopen, authMethods }: Greeting,
  { sessionMs }: AcpLimits,
  resume: string | null,
) {
  const mcpServers =
    launch.tools && capabilities.tools
      ? [
          {
            type: 'http',
            name: boardServer,
            url: launch.tools.url,
            headers: [{ name: 'Authorization', value: `Bearer ${launch.tools.token}` }],
          },
        ]
      : []
  if (mcpServers.length > 0) connection.permissions.allowBoardTools()
  const ask = (method: string, params: object) =>
    signedIn(launch, connection, authMethods, sessionMs, () =>
      connection.request(method, { cwd: launch.cwd, mcpServers, ...params }, sessionMs),
    )
  for (const method of resume === null ? [] : reopen) {
    connection.conversation.expect(resume)
    try {
      return { session: await ask(method, { sessionId: resume }), resumed: true }
    } catch (error) {
      if (typeof (error as { code?: unknown }).code !== 'number') throw error
      connection.conversation.expect(null)
    }
  }
  const session = await ask('session/new', {})
  if (connection.conversation.sessionId === null)
    throw new AgentFailure('protocol_violation', 'The agent opened a session without a name.')
  return { session, resumed: false }
}

/** Runs a request; an agent that wants a sign-in first gets one where the credential in its environment serves. */
async function signedIn(
  launch: AgentLaunch,
  { request }: Connection,
  offered: readonly string[],
  limitMs: number,
  ask: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await ask()
  } catch (error) {
    if (!isAuthRequired(error)) throw error
    const methodId = launch.authMethods.find(method => offered.includes(method))
    if (methodId === undefined) throw new AgentFailure('launch_failed', notSignedIn)
    await request('authenticate', { methodId }, limitMs)
    return ask()
  }
}

/** Chooses the wanted mode and model where the agent offers them. */
async function chooseFirst(
  launch: AgentLaunch,
  { request, conversation }: Connection,
  session: unknown,
  { sessionMs }: AcpLimits,
): Promise<Omit<StartedSession, 'sessionId' | 'resumed'> & { choose: (id: string) => Promise<unknown> }> {
  const [modes, models] = [readChoices(session, 'mode'), readChoices(session, 'model')]
  const ask = ({ method, params }: { method: string; params: object }) =>
    request(method, { sessionId: conversation.sessionId, ...params }, sessionMs)
  const mode = launch.modes?.find(id => modes.offered.some(each => each.id === id))
  if (mode !== undefined && mode !== modes.current) await ask(modes.request(mode))
  const model = models.offered.find(({ id }) => id === launch.model)?.id
  if (model !== undefined && model !== models.current) await ask(models.request(model))
  return {
    mode: mode ?? modes.current,
    model: model ?? models.current,
    modes: modes.offered,
    models: models.offered,
    choose: id => ask(modes.request(id)),
  }
}

function createPrompt(
  { usageIsCumulative }: AgentLaunch,
  { conversation, permissions, endings, request }: Connection,
): AgentLink['prompt'] {
  let counted: TurnUsage | null = null
  const countUsage = (told: TurnUsage | null): TurnUsage | null => {
    if (!told || !usageIsCumulative) return told
    const since = usageSince(told, counted)
    counted = told
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
      const answer = await request('session/prompt', {
        sessionId: conversation.sessionId,
        prompt: [{ type: 'text', text }],
      })
      const usage = countUsage(usageOfTurn(answer)) ?? addUsage(turn.usage, null)
      return {
        stopReason: turn.cancelled
          ? 'cancelled'
          : checkStopReason(record(answer).stopReason, turn.usedTools ? '' : turn.text),
        usage,
      }
    } catch (error) {
      if (turn.cancelled) return { stopReason: 'cancelled', usage: turn.usage }
      throw await endings.explain(error, 'crashed')
    } finally {
      conversation.turn = null
      permissions.cancelAll()
    }
  }
}
