import { client, methods } from '@agentclientprotocol/sdk'
import { createConversation, type Conversation } from './conversation.ts'
import { createEndings, type Endings } from '../link/exitFailures.ts'
import { createPermissions, type Permissions } from './permissionRequests.ts'
import { allRead } from '../link/drainOutput.ts'
import { createSafeTail, type SafeTail } from '../link/stderrTail.ts'
import { AgentFailure, type AgentLaunch, type AgentListener, type AgentProcess } from '../link/agentLink.ts'
import { createWire } from './jsonRpcStream.ts'

/** The line to one agent process: requests go out, what it says goes to the listener. */
export interface Connection {
  readonly conversation: Conversation
  readonly permissions: Permissions
  readonly endings: Endings
  readonly tail: SafeTail
  /** @throws AgentFailure timeout after the limit, RequestError of the agent, Error when the line is cut */
  request(method: string, params: object, limitMs?: number): Promise<unknown>
  notify(method: string, params: object): Promise<void>
  close(): void
}

export function connect(launch: AgentLaunch, listener: AgentListener, child: AgentProcess): Connection {
  const tail = createSafeTail(launch.secrets)
  const conversation = createConversation(listener)
  const permissions = createPermissions(listener, conversation)
  let strayLines = 0
  const { stream, reading } = createWire(child.stdin, child.stdout, {
    ...conversation.tap,
    stray: line => {
      strayLines++
      tail.add(Buffer.concat([line, Buffer.from('\n')]))
    },
  })
  child.stderr.on('data', tail.add)
  const app = client({ name: 'board' }).onRequest(methods.client.session.requestPermission, ({ params, signal }) =>
    permissions.ask(params, signal),
  )
  const line = app.connect(stream)
  void child.exited.then(() => allRead(reading)).then(() => line.close())
  return {
    conversation,
    permissions,
    tail,
    endings: createEndings(child, tail, launch.secrets, () => strayLines > 0 && !conversation.begun),
    request: (method, params, limitMs) => within(line.agent.request<unknown>(method, params), method, limitMs),
    notify: (method, params) => line.agent.notify(method, params),
    close() {
      conversation.stop()
      permissions.cancelAll()
      line.close()
      child.stdin.end()
    },
  }
}

async function within<T>(answer: Promise<T>, method: string, limitMs?: number): Promise<T> {
  if (limitMs === undefined) return answer
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new AgentFailure('timeout', `The agent did not answer ${method} within ${limitMs / 1000} seconds.`)),
      limitMs,
    )
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}
