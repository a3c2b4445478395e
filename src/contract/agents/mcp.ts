import * as v from 'valibot'
import { anyToken, post } from '../route.ts'

/**
 * One message of the Model Context Protocol, JSON-RPC 2.0. The tool that answers it checks its parameters. Some clients
 * send null for omitted fields.
 */
export const McpMessage = v.looseObject({
  jsonrpc: v.literal('2.0'),
  id: v.optional(v.union([v.string(), v.number()])),
  method: v.optional(v.string()),
  params: v.nullish(v.record(v.string(), v.unknown())),
})

const maxBatch = 20

export const mcp = {
  call: post('/api/mcp', {
    who: anyToken,
    challenges: true,
    rateLimit: 'apiKey',
    summary: "Send a message to the board's Model Context Protocol server",
    details: '?tools=find,run selects groups of tools, ?readOnly=true selects tools that change nothing.',
    input: v.union([McpMessage, v.pipe(v.array(McpMessage), v.minLength(1), v.maxLength(maxBatch))]),
    transfer: 'raw',
    answers: {
      200: { description: 'The response of the Model Context Protocol server', type: 'application/json' },
      202: { description: 'The message was accepted, and has no response' },
    },
  }),
}
