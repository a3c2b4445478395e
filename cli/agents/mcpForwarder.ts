import { send, type Answer, type Connection } from '../../src/client/http.ts'
import { ApiFailure } from '../../src/client/failures.ts'

/** What is written back, if anything, and what went wrong that no answer can tell. */
export interface Forwarded {
  answer?: string
  trouble?: string
}
export interface ForwarderOptions {
  /** The project of calls that name none. */
  projectId: string | undefined
  /** Whether only tools are offered and forwarded that change nothing. */
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
  annotations?: { readOnlyHint?: boolean }
}
interface Result {
  protocolVersion?: unknown
  tools?: Tool[]
}

const path = '/api/mcp'
const codes = { parse: -32_700, invalidParams: -32_602, failed: -32_000 } as const

/** Makes the function that forwards messages of the Model Context Protocol to a server, one after the other. */
export function createForwarder(
  connection: Connection,
  options: ForwarderOptions,
): (line: string) => Promise<Forwarded> {
  const { projectId, readOnly } = options
  let protocolVersion: string | undefined
  let harmlessTools: Promise<Set<string>> | undefined

  const ask = async (message: unknown): Promise<Answer> =>
    send(connection, 'POST', path, JSON.stringify(message), {
      headers: {
        accept: 'application/json, text/event-stream',
        ...(protocolVersion !== undefined && { 'mcp-protocol-version': protocolVersion }),
      },
    })
  const listHarmless = async (): Promise<Set<string>> =>
    new Set(
      (resultOf(await ask({ jsonrpc: '2.0', id: 0, method: 'tools/list' }))?.tools ?? [])
        .filter(isHarmless)
        .map(({ name }) => name),
    )
  const mayCall = async (name: string | undefined) =>
    !readOnly || (await (harmlessTools ??= listHarmless())).has(name ?? '')

  return async line => {
    const message = parse(line)
    if (!message) return { answer: failure(null, codes.parse, 'The message is not valid JSON.') }
    const isRequest = message.id !== undefined && message.method !== undefined
    try {
      if (message.method === 'tools/call' && !(await mayCall(message.params?.name)))
        return {
          answer: failure(
            message.id,
            codes.invalidParams,
            `There is no tool ${message.params?.name} with --read-only.`,
          ),
        }
      const answer = await ask(
        message.method === 'tools/call' && projectId !== undefined ? withProject(message, projectId) : message,
      )
      const result = resultOf(answer)
      if (message.method === 'initialize' && typeof result?.protocolVersion === 'string')
        protocolVersion = result.protocolVersion
      if (!isRequest) return {}
      return {
        answer: result?.tools
          ? JSON.stringify({
              jsonrpc: '2.0',
              id: message.id,
              result: { ...result, tools: offered(result.tools, options) },
            })
          : answer.bytes.toString(),
      }
    } catch (error) {
      harmlessTools = undefined
      const words = (error as Error).message
      return isRequest ? { answer: failure(message.id, codes.failed, words) } : { trouble: words }
    }
  }
}

/** The tools as a client sees them: where the project is given, none asks for it. */
function offered(tools: readonly Tool[], { projectId, readOnly }: ForwarderOptions): readonly Tool[] {
  const some = readOnly ? tools.filter(isHarmless) : tools
  if (projectId === undefined) return some
  return some.map(tool => ({
    ...tool,
    inputSchema: {
      ...tool.inputSchema,
      required: (tool.inputSchema.required ?? []).filter(name => name !== 'projectId'),
    },
  }))
}

const isHarmless = ({ annotations }: Tool) => annotations?.readOnlyHint === true

const withProject = ({ params, ...message }: Message, projectId: string): Message => ({
  ...message,
  params: { ...params, arguments: { projectId, ...params?.arguments } },
})

/** What a server answered to a message. @throws ApiFailure when it is the board that refuses, and not its tools */
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
