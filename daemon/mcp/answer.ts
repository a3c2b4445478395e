import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js'
import type { App } from '../../src/app.ts'
import { version } from '../../src/config/version.ts'
import { Problem } from '../../src/contract/errors.ts'
import type { Caller } from '../../src/domain/caller.ts'
import { AuditTrail } from '../http/auditTrail.ts'
import type { Call } from '../http/handlers.ts'
import { tools } from './tools.ts'
import type { Tool } from './tool.ts'

const forAgents =
  'The board that you work for. Your card says what is to be done: read it with get_card. Say now and then what you do with report_progress. What you find beside your task goes into a card of its own, with create_card.'
const forPeople = 'A project board: read its cards, add to them, attach files.'

/**
 * Answers one message of the Model Context Protocol with a new protocol server, without a session: the token identifies the caller.
 * The caller's errors are results of the tool, as models expect; others are thrown.
 */
export async function handleMcpMessage(
  app: App,
  { caller, address }: Pick<Call, 'caller' | 'address'>,
  message: unknown,
  protocolVersion: string | undefined,
): Promise<Response> {
  const failures: unknown[] = []
  const server = new Server(
    { name: 'board', title: 'Board', version },
    { capabilities: { tools: {} }, instructions: caller.agent ? forAgents : forPeople },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...tools.values()].map(tool => tool.describe(caller)),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    try {
      return await callTool(app, { caller, address }, params.name, params.arguments ?? {})
    } catch (error) {
      if (!(error instanceof McpError)) failures.push(error)
      throw error
    }
  })
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(protocolVersion !== undefined && { 'mcp-protocol-version': protocolVersion }),
    }
    const response = await transport.handleRequest(new Request('http://board/api/mcp', { method: 'POST', headers }), {
      parsedBody: message,
    })
    if (failures.length > 0) throw failures[0]
    return response
  } finally {
    await server.close()
  }
}

/**
 * The machine that must answer a message, and the project it is about: any machine, unless it calls a tool that needs the
 * project's folder or processes and the caller may use it. Invalid messages are refused by the machine that answers.
 */
export async function projectOfMessage(
  app: App,
  caller: Caller,
  message: unknown,
): Promise<{ at: Tool['at']; projectId: number | undefined }> {
  const called = app.db.isShared ? CallToolRequestSchema.safeParse(message).data?.params : undefined
  const tool = called && tools.get(called.name)
  if (!called || !tool?.at) return { at: undefined, projectId: undefined }
  try {
    return { at: tool.at, projectId: (await tool.place(caller, called.arguments ?? {}, app.db)).projectId }
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return { at: undefined, projectId: undefined }
    throw error
  }
}

async function callTool(
  app: App,
  { caller, address }: Pick<Call, 'caller' | 'address'>,
  name: string,
  input: unknown,
): Promise<CallToolResult> {
  const tool = tools.get(name)
  if (!tool) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${name.slice(0, 100)}.`)
  try {
    const audit = tool.audited && new AuditTrail(app, tool.audited, caller, address)
    const content = await tool.call(audit ? { ...app, db: audit.db } : app, caller, input, audit)
    await audit?.finish()
    return { content }
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    return { isError: true, content: [{ type: 'text', text: JSON.stringify({ error }) }] }
  }
}
