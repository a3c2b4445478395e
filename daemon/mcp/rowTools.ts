import { invalid } from '../../src/contract/errors.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import type { Tool } from '../../src/contract/agents/tool.ts'
import type { CardRef } from '../../src/domain/cards/cards.ts'
import { AuditTrail, type AuditDependencies } from '../http/auditTrail.ts'
import { callEndpoint, explainFailedWrite, type Endpoint, type EndpointDependencies } from '../http/callEndpoint.ts'
import { Json, type Call } from '../http/handlers.ts'
import { RequestCall } from '../http/requestCall.ts'
import { takeFields } from '../http/requestInput.ts'
import { argumentOf, inputOf, type ToolInput } from './inputSchema.ts'
import { shortenAnswer } from './shorten.ts'
import { describeStart } from './startedCard.ts'

type Fields = Record<string, unknown>

/** A row of the contract as a tool. */
export interface RowTool {
  tool: Tool
  endpoint: Endpoint
}
/** A tool's description for clients. */
export interface Description {
  name: string
  title: string
  description: string
  inputSchema: ToolInput
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; openWorldHint: boolean }
}

/** The tools that rows of the contract declare, by their names. */
export const rowToolsOf = (endpoints: Iterable<Endpoint>): ReadonlyMap<string, RowTool> =>
  new Map(
    [...endpoints].flatMap(endpoint => {
      const { tool } = endpoint.route
      return tool ? [[tool.name, { tool, endpoint }] as const] : []
    }),
  )

/** Describes a tool from its row only, without any text that users wrote on the board. */
export function describeRow({ tool, endpoint: { route } }: RowTool): Description {
  const { name, title, does, note, openWorld = false } = tool
  const { summary, details } = route
  return {
    name,
    title,
    description: [`${summary}.`, details, note].filter(Boolean).join(' '),
    inputSchema: inputOf(route),
    annotations: { readOnlyHint: does === 'reads', destructiveHint: does === 'destroys', openWorldHint: openWorld },
  }
}

/**
 * Calls a tool as its row would be called by a request.
 * @param message the message of the call, for the machine that must answer it
 * @returns the answer of the tool, or the answer of another machine to the message
 * @throws Problem
 */
export async function callRow(
  app: EndpointDependencies & AuditDependencies,
  { caller, peer, address, request, response }: Call,
  { tool, endpoint }: RowTool,
  given: Fields,
  message: unknown,
): Promise<{ answer: Fields } | { passed: Response }> {
  const { route, audited } = endpoint
  const { params, fields, full } = splitFields(endpoint, { ...tool.usual, ...given })
  // Headers belong to the message. The arguments of each call describe the call.
  const call = new RequestCall(app.db, {}, request, response, caller, peer, address)
  let input: Fields = params
  try {
    const { passed, result } = await callEndpoint(app, endpoint, call, {
      params,
      isOpen: false,
      audit: audited && new AuditTrail(app, audited, caller, address),
      message,
      read: async () => ({ input: (input = takeFields(route, fields, params)) }),
    })
    if (passed) return { passed }
    if (tool.starts) return { answer: await describeStart(app.db, params as Fields & CardRef) }
    const value = result instanceof Json ? (JSON.parse(result.text) as unknown) : result
    return { answer: shortenAnswer(tool, { ...input, full }, value) }
  } catch (error) {
    throw await explainFailedWrite(app, { caller, route, input }, error)
  }
}

/** @throws Problem VALIDATION_FAILED, or the error of the route for an invalid ID */
function splitFields(
  { route, readParams }: Endpoint,
  given: Fields,
): { params: Fields; fields: Fields; full: boolean } {
  const { full = false, ...rest } = given
  if (typeof full !== 'boolean') throw invalid('full', 'must be true or false')
  if (full && route.tool!.does !== 'reads') throw invalid('full', 'is not a known field')
  const raw: Record<string, string> = {}
  for (const param of paramsOf(route.path)) {
    const name = argumentOf(route, param)
    const value = rest[name]
    if (value === undefined) throw invalid(name, 'is required')
    if (typeof value !== 'string' && typeof value !== 'number') throw invalid(name, 'must be an ID')
    raw[param] = encodeURIComponent(String(value).toWellFormed())
    delete rest[name]
  }
  return { params: readParams(raw), fields: rest, full }
}
