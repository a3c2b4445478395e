import * as v from 'valibot'
import { agentOrUser, post } from './route.ts'

/** One message of the Model Context Protocol, JSON-RPC 2.0. Its parameters are checked by the tool that answers it. */
const Call = v.looseObject({
  jsonrpc: v.literal('2.0'),
  id: v.optional(v.union([v.string(), v.number()])),
  method: v.optional(v.string()),
  params: v.optional(v.record(v.string(), v.unknown())),
})

export const mcp = {
  call: post('/api/mcp', {
    who: agentOrUser,
    summary: 'The board as tools of the Model Context Protocol',
    input: Call,
    transfer: 'raw',
    answers: {
      200: { description: 'The answer', type: 'application/json' },
      202: { description: 'The message needs no answer' },
    },
  }),
}
