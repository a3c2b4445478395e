import { client, methods } from '@agentclientprotocol/sdk'
import { AgentFailure, type AgentLaunch, type AgentListener, type AgentProcess } from '../link/agentLink.ts'
import { drainOutput } from '../link/drainOutput.ts'
import { createFailureExplainer, type FailureExplainer } from '../link/exitFailures.ts'
import { createStderrTail, type StderrTail } from '../link/stderrTail.ts'
import { createConversation, type Conversation } from './conversation.ts'
import { createJsonRpcStream } from './jsonRpcStream.ts'
import { parsePermissionParams } from './permissionParams.ts'
import { createPermissionRequests, type PermissionRequests } from './permissionRequests.ts'

/** The connection to one agent process: sends requests, and forwards the agent's updates to the listener. */
export interface AcpConnection {
  readonly conversation: Conversation
  readonly permissions: PermissionRequests
  readonly failures: FailureExplainer
  readonly tail: StderrTail
  /** @throws AgentFailure timeout after the limit, RequestError of the agent, Error when the connection is closed */
  request(method: string, params: object, timeoutMs?: number): Promise<unknown>
  notify(method: string, params: object): Promise<void>
  close(): void
  /** Resolves when the process has exited and its output is read. */
  readonly outputEnded: Promise<void>
}

export function connectAcp(launch: AgentLaunch, listener: AgentListener, child: AgentProcess): AcpConnection {
  const tail = createStderrTail(launch.secrets)
  const conversation = createConversation(listener)
  const permissions = createPermissionRequests(listener, conversation, launch.toolNaming)
  let unparsedLines = 0
  const { stream, reader } = createJsonRpcStream(child.stdin, child.stdout, {
    ...conversation.rawListener,
    onInvalidLine: line => {
      unparsedLines++
      tail.add(Buffer.concat([line, Buffer.from('\n')]))
    },
  })
  child.stderr.on('data', tail.add)
  const app = client({ name: 'board' })
    .onRequest(methods.client.session.requestPermission, parsePermissionParams, ({ params, signal }) =>
      permissions.ask(params, signal),
    )
    .onRequest(methods.client.elicitation.create, ({ params, signal }) => permissions.elicit(params, signal))
  const rpc = app.connect(stream)
  const outputEnded = child.exited.then(() => drainOutput(reader))
  void outputEnded.then(() => rpc.close())
  return {
    conversation,
    permissions,
    tail,
    failures: createFailureExplainer(child, tail, launch.secrets, () => unparsedLines > 0 && !conversation.begun),
    request: (method, params, timeoutMs) => withTimeout(rpc.agent.request<unknown>(method, params), method, timeoutMs),
    notify: (method, params) => rpc.agent.notify(method, params),
    outputEnded,
    close() {
      conversation.stop()
      permissions.cancelAll()
      rpc.close()
      child.stdin.end()
    },
  }
}

async function withTimeout<T>(answer: Promise<T>, method: string, timeoutMs?: number): Promise<T> {
  if (timeoutMs === undefined) return answer
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(new AgentFailure('timeout', `The agent did not answer ${method} within ${timeoutMs / 1000} seconds.`)),
      timeoutMs,
    )
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}
