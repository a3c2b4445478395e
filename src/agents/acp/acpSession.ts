import { AgentFailure, type AgentLaunch, type StartedSession } from '../link/agentLink.ts'
import { isAuthRequired, notSignedIn } from '../link/failureReasons.ts'
import type { AcpConnection } from './acpConnection.ts'
import type { Handshake } from './handshake.ts'
import { readOptions } from './sessionOptions.ts'
import { boardServer } from './toolCalls.ts'

/** Resumes a session, or opens a new one. An agent may refuse a resume method that it announced (Qwen Code 0.15), so each is tried. */
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
  for (const method of resume === null ? [] : resumeMethods) {
    connection.conversation.setSession(resume)
    try {
      return { session: await send(method, { sessionId: resume }), resumed: true }
    } catch (error) {
      if (typeof (error as { code?: unknown }).code !== 'number') throw error
      connection.conversation.setSession(null)
    }
  }
  const session = await send('session/new', {})
  if (connection.conversation.sessionId === null)
    throw new AgentFailure('protocol_violation', 'The agent opened a session without an id.')
  return { session, resumed: false }
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

/** Sets the mode and the model of the launch where the agent offers them. */
export async function setInitialOptions(
  launch: AgentLaunch,
  { request, conversation }: AcpConnection,
  session: unknown,
  timeoutMs: number,
): Promise<Omit<StartedSession, 'sessionId' | 'resumed'> & { setMode: (id: string) => Promise<unknown> }> {
  const [modes, models] = [readOptions(session, 'mode'), readOptions(session, 'model')]
  const send = ({ method, params }: { method: string; params: object }) =>
    request(method, { sessionId: conversation.sessionId, ...params }, timeoutMs)
  const mode = launch.modes?.find(id => modes.offered.some(each => each.id === id))
  if (mode !== undefined && mode !== modes.current) await send(modes.request(mode))
  const model = models.offered.find(({ id }) => id === launch.model)?.id
  if (model !== undefined && model !== models.current) await send(models.request(model))
  return {
    mode: mode ?? modes.current,
    model: model ?? models.current,
    modes: modes.offered,
    models: models.offered,
    setMode: id => send(modes.request(id)),
  }
}
