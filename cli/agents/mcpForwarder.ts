import { send, type Answer, type Connection } from '../../src/client/http.ts'
import { ApiFailure } from '../../src/client/failures.ts'

/** The answer to write back, if any, and an error that no answer can report. */
export interface Forwarded {
  answer?: string
  trouble?: string
}
export interface ForwarderOptions {
  /** The project of calls that do not name a project. */
  projectId: string | undefined
  /** The groups of tools that are offered, with commas between them; undefined: all. */
  groups: string | undefined
  /** Whether to offer only tools that change nothing, and prompts that use only these tools. */
  readOnly: boolean
}
interface Message {
  id?: string | number | null
  method?: string
  params?: { name?: string; arguments?: Record<string, unknown> } & Record<string, unknown>
}
interface Tool {
  name: string
  inputSchema: { required?: string[]; properties?: Record<string, unknown> }
}
interface Result {
  protocolVersion?: unknown
  tools?: Tool[]
}

const path = '/api/mcp'
/** The timeout is long, because some tools wait for a remote or a forge. */
const patienceMs = 10 * 60_000
const codes = { parse: -32_700, failed: -32_000 } as const

/** Creates the function that forwards messages of the Model Context Protocol to a server, one after the other. */
export function createForwarder(
  connection: Connection,
  options: ForwarderOptions,
): (line: string) => Promise<Forwarded> {
  const { projectId } = options
  let protocolVersion: string | undefined
  let tools: Promise<ReadonlyMap<string, Tool>> | undefined

  const ask = (message: unknown) => sendMessage(connection, options, message, protocolVersion)
  /** Returns the call to forward, with the project ID if the tool requires one. */
  const prepareCall = async (message: Message): Promise<Message> => {
    if (message.method !== 'tools/call' || projectId === undefined) return message
    const tool = (await (tools ??= listTools(ask))).get(message.params?.name ?? '')
    return tool?.inputSchema.required?.includes('projectId') ? withProject(message, projectId) : message
  }

  return async line => {
    const message = parse(line)
    if (!message) return { answer: failure(null, codes.parse, 'The message is not valid JSON.') }
    const isRequest = message.id !== undefined && message.method !== undefined
    try {
      const answer = await ask(await prepareCall(message))
      const result = resultOf(answer)
      if (message.method === 'initialize' && typeof result?.protocolVersion === 'string')
        protocolVersion = result.protocolVersion
      if (!isRequest) return {}
      return {
        answer: result?.tools
          ? JSON.stringify({
              jsonrpc: '2.0',
              id: message.id,
              result: { ...result, tools: withoutProjectParameter(result.tools, projectId) },
            })
          : answer.bytes.toString(),
      }
    } catch (error) {
      tools = undefined
      const words = (error as Error).message
      return isRequest ? { answer: failure(message.id, codes.failed, words) } : { trouble: words }
    }
  }
}

const sendMessage = (
  connection: Connection,
  { groups, readOnly }: ForwarderOptions,
  message: unknown,
  protocolVersion: string | undefined,
): Promise<Answer> => {
  const chosen = { ...(groups !== undefined && { tools: groups }), ...(readOnly && { readOnly: 'true' }) }
  return send(connection, 'POST', `${path}?${new URLSearchParams(chosen)}`, JSON.stringify(message), {
    patienceMs,
    headers: {
      accept: 'application/json, text/event-stream',
      ...(protocolVersion !== undefined && { 'mcp-protocol-version': protocolVersion }),
    },
  })
}

const listTools = async (ask: (message: unknown) => Promise<Answer>): Promise<ReadonlyMap<string, Tool>> =>
  new Map(
    (resultOf(await ask({ jsonrpc: '2.0', id: 0, method: 'tools/list' }))?.tools ?? []).map(tool => [tool.name, tool]),
  )

/** Returns the tools as a client sees them. If the project is preset, no tool has a project parameter. */
function withoutProjectParameter(tools: readonly Tool[], projectId: string | undefined): readonly Tool[] {
  if (projectId === undefined) return tools
  return tools.map(tool => ({
    ...tool,
    inputSchema: {
      ...tool.inputSchema,
      required: (tool.inputSchema.required ?? []).filter(name => name !== 'projectId'),
    },
  }))
}

const withProject = ({ params, ...message }: Message, projectId: string): Message => ({
  ...message,
  params: { ...params, arguments: { projectId, ...params?.arguments } },
})

/** Returns the server's result for a message. @throws ApiFailure if the board rejects the request itself */
function resultOf({ status, bytes, headers }: Answer): Result | undefined {
  if (bytes.length === 0) return undefined
  const body = parse(bytes.toString()) as { jsonrpc?: string; result?: Result } | undefined
  if (body?.jsonrpc !== '2.0') throw new ApiFailure(status, body, headers)
  return body.result
}

const failure = (id: Message['id'], code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } })

function parse(line: string): Message | undefined {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Message) : undefined
  } catch {
    return undefined
  }
}
