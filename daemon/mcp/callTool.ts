import { CallToolRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { Problem } from '../../src/contract/errors.ts'
import { actorOf } from '../../src/domain/cards/activity.ts'
import type { Database } from '../../src/store/engine/database.ts'
import { AuditTrail } from '../http/auditTrail.ts'
import type { Call } from '../http/handlers.ts'
import type { Session } from './session.ts'
import { callRow } from './rowTools.ts'
import type { Content, Tool, ToolDependencies } from './tool.ts'
import { toolsetOf, type Found } from './toolset.ts'
import { escapeInvisible, visibleJson } from './visible.ts'
import { isForModel, recoveryHints } from './recoveryHints.ts'

/**
 * Calls a tool. Failures that a model must see are results with a recovery hint. Others are thrown.
 * @param message the message of the call
 * @returns the result, or the answer of another machine to the message
 */
export async function callTool(
  app: ToolDependencies,
  call: Call,
  found: Found,
  input: Record<string, unknown>,
  message: unknown,
): Promise<{ result: CallToolResult } | { passed: Response }> {
  try {
    if ('byHand' in found) return { result: { content: await callByHand(app, call, found.byHand, input) } }
    const done = await callRow(app, call, found.ofRow, input, message)
    return 'passed' in done ? done : { result: resultOf(done.answer) }
  } catch (error) {
    if (!isForModel(error)) throw error
    return { result: failureOf(error, call) }
  }
}

/** The result as text for models, and as a value for programs. Invisible characters are escaped in both. */
const resultOf = (answer: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text: visibleJson(answer) }],
  structuredContent: escapeInvisible(answer),
})

function failureOf(error: Problem, { caller }: Call): CallToolResult {
  const next = caller.agent ? undefined : recoveryHints(error)
  const { retryAfterSecs } = error
  const told = { error, ...(next && { next }), ...(retryAfterSecs !== undefined && { retryAfterSecs }) }
  return { isError: true, content: [{ type: 'text', text: visibleJson(told) }] }
}

async function callByHand(
  app: ToolDependencies,
  { caller, address, signal }: Call,
  tool: Tool,
  input: unknown,
): Promise<Content[]> {
  const audit = tool.audited && new AuditTrail(app, tool.audited, caller, address)
  const db = audit?.db ?? app.db
  const own: Database = { ...db, transaction: work => db.transaction(work, actorOf(caller)) }
  const content = await tool.call({ ...app, db: own }, caller, input, signal, audit)
  await audit?.finish()
  return content
}

/**
 * Returns the machine that must answer a message, and its project. Returns undefined (any machine) unless the message calls a
 * custom tool that needs the project's folder or processes and that the caller can use. The answering machine rejects invalid
 * messages. Tools of rows are forwarded by their route.
 */
export async function placeOf(
  { app, call: { caller }, rows, choice }: Session,
  message: unknown,
): Promise<{ at: Tool['at']; projectId: number } | undefined> {
  const called = app.db.isShared ? CallToolRequestSchema.safeParse(message).data?.params : undefined
  const found = called && toolsetOf(app.db, caller, rows, choice).find(called.name)
  if (!called || !found || !('byHand' in found) || !found.byHand.at) return undefined
  try {
    const { projectId } = await found.byHand.place(caller, called.arguments ?? {}, app.db)
    return { at: found.byHand.at, projectId }
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return undefined
    throw error
  }
}
