import { AgentFailure, type AgentLaunch, type SessionOption, type StartedSession } from '../link/agentLink.ts'
import { isAuthRequired, notSignedIn } from '../link/failureReasons.ts'
import type { AcpConnection } from './acpConnection.ts'
import type { Handshake } from './handshake.ts'
import { readOptions, type SessionOptions } from './sessionOptions.ts'
import { boardServer } from './toolCalls.ts'

const maxNamed = 20

/**
 * Resumes a session, or opens a new one. Some agents refuse a resume method that they announced (Qwen Code 0.15), so each method
 * is tried. `refusal` is the last error.
 */
export async function openSession(
  launch: AgentLaunch,
  connection: AcpConnection,
  { capabilities, resumeMethods, authMethods }: Handshake,
  timeoutMs: number,
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
  const send = (method: string, params: object) =>
    withSignIn(launch, connection, authMethods, timeoutMs, () =>
      connection.request(method, { cwd: launch.cwd, mcpServers, ...params }, timeoutMs),
    )
  let refusal: unknown
  for (const method of resume === null ? [] : resumeMethods) {
    connection.conversation.setSession(resume)
    try {
      const session = await send(method, { sessionId: resume })
      if (method === 'session/load') await connection.conversation.untilReplayed()
      return { session, resumed: true }
    } catch (error) {
      if (typeof (error as { code?: unknown }).code !== 'number') throw error
      refusal = error
      connection.conversation.setSession(null)
    }
  }
  const session = await send('session/new', {})
  if (connection.conversation.sessionId === null)
    throw new AgentFailure('protocol_violation', 'The agent opened a session without an ID.')
  return { session, resumed: false, refusal }
}

/** Sends a request. An agent that requires a sign-in first is authenticated by a method that uses its environment. */
async function withSignIn(
  launch: AgentLaunch,
  { request }: AcpConnection,
  offered: readonly string[],
  timeoutMs: number,
  send: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await send()
  } catch (error) {
    if (!isAuthRequired(error)) throw error
    const methodId = launch.authMethods.find(method => offered.includes(method))
    if (methodId === undefined) throw new AgentFailure('launch_failed', notSignedIn)
    await request('authenticate', { methodId }, timeoutMs)
    return send()
  }
}

/**
 * Sets the chosen model, mode and effort. Without a chosen mode, sets the first mode of the launch that the agent offers.
 * @throws AgentFailure launch_failed for a choice that the agent does not offer, with the offered values
 */
export async function setInitialOptions(
  launch: AgentLaunch,
  { request, conversation }: AcpConnection,
  session: unknown,
  timeoutMs: number,
): Promise<Omit<StartedSession, 'sessionId' | 'resumed'> & { setMode: (id: string) => Promise<unknown> }> {
  const offers = {
    mode: readOptions(session, 'mode'),
    model: readOptions(session, 'model'),
    effort: readOptions(session, 'effort'),
  }
  const send = ({ method, params }: { method: string; params: object }) =>
    request(method, { sessionId: conversation.sessionId, ...params }, timeoutMs)
  const set = async (what: 'mode' | 'model' | 'effort'): Promise<string | null> => {
    const [{ current, offered, request }, id] = [offers[what], launch.choice?.[what] ?? null]
    if (id === null || id === current) return current
    if (!offered.some(each => each.id === id)) {
      if (what === 'model' && launch.modelIsKnown) return id
      throw notOffered(what, id, offered)
    }
    await send(request(id))
    return id
  }
  const model = await set('model')
  const mode = launch.choice?.mode ? await set('mode') : await setPreferredMode(launch.modes ?? [], offers.mode, send)
  return {
    model,
    mode,
    effort: await set('effort'),
    modes: offers.mode.offered,
    models: offers.model.offered,
    efforts: offers.effort.offered,
    setMode: id => send(offers.mode.request(id)),
  }
}

/**
 * Sets the first mode that the agent offers. A mode that the agent refuses is skipped: Gemini CLI refuses modes in folders that
 * it does not trust.
 */
async function setPreferredMode(
  wanted: readonly string[],
  { current, offered, request }: SessionOptions,
  send: (message: ReturnType<SessionOptions['request']>) => Promise<unknown>,
): Promise<string | null> {
  const mode = wanted.find(id => offered.some(each => each.id === id))
  if (mode === undefined || mode === current) return current
  try {
    await send(request(mode))
    return mode
  } catch (error) {
    if (typeof (error as { code?: unknown }).code === 'number') return current
    throw error
  }
}

function notOffered(what: string, id: string, offered: readonly SessionOption[]): AgentFailure {
  const names = offered.slice(0, maxNamed).map(each => each.id)
  const others = offered.length > names.length ? `, and ${offered.length - names.length} more` : ''
  return new AgentFailure(
    'launch_failed',
    names.length === 0
      ? `The agent does not offer a choice of ${what}, so ${id} cannot be set.`
      : `The agent does not offer the ${what} ${id}. It offers: ${names.join(', ')}${others}.`,
  )
}
