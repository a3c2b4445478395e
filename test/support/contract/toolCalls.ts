import { errors, type ErrorCode } from '../../../src/contract/errors.ts'
import { argumentOf } from '../../../daemon/mcp/inputSchema.ts'
import type { Reply, TestBoard } from '../servers/testBoard.ts'
import type { Row } from './examples.ts'
import type { Seed } from './seed.ts'

type Input = Record<string, unknown>

/** Tools that are written by hand, by the row whose permission each needs. */
const byHand: Readonly<Record<string, { name: string; take(input: Input, place: Seed): Input }>> = {
  'attachments.create': {
    name: 'attach_file',
    take: input => ({ ...input, filename: 'example.txt', text: 'An example' }),
  },
  'attachments.download': { name: 'read_attachment', take: (input, { projectId }) => ({ projectId, ...input }) },
}

/** The tool of a row, if it has one. */
export const toolOf = ({ name, route }: Row): string | undefined => route.tool?.name ?? byHand[name]?.name

/** Calls a row's tool with the input of a request of the row, and returns the result like a response of HTTP. */
export async function callTool(
  board: TestBoard,
  row: Row,
  input: Input,
  { place, token }: { place: Seed; token: string | null },
): Promise<Reply> {
  const given = byHand[row.name]?.take(input, place) ?? argumentsOf(row, input)
  const reply = await send(board, 'tools/call', { name: toolOf(row), arguments: given }, token)
  const result = reply.body?.result
  if (!result) return reply
  const { text } = result.content[0]
  if (!result.isError) return { ...reply, status: row.route.status, text, body: { data: result.structuredContent } }
  const { error } = JSON.parse(text) as { error: { code: ErrorCode } }
  return { ...reply, status: errors[error.code][0], text, body: { error } }
}

/** The names of the tools in the list for a token. */
export async function listTools(board: TestBoard, token: string): Promise<string[]> {
  const { body } = await send(board, 'tools/list', {}, token)
  return (body.result.tools as Array<{ name: string }>).map(({ name }) => name).sort()
}

const send = (board: TestBoard, method: string, params: Input, token: string | null) =>
  board.request('POST', '/api/mcp', { token, body: { jsonrpc: '2.0', id: 1, method, params } })

const argumentsOf = ({ route }: Row, input: Input): Input =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [argumentOf(route, name), value]))
