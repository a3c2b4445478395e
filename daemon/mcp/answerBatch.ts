import type { InferOutput } from 'valibot'
import type { McpMessage } from '../../src/contract/agents/mcp.ts'

type Message = InferOutput<typeof McpMessage>

const invalidRequest = -32600
const calls = new Set(['tools/call', 'resources/read', 'prompts/get'])

/**
 * Answers a batch of messages in their order, as protocol version 2025-03-26 defines it. A batch can contain one call only, because the
 * limit of requests counts it as one.
 */
export async function answerBatch(
  messages: readonly Message[],
  answer: (message: Message) => Promise<Response>,
): Promise<Response> {
  const answers: unknown[] = []
  let hasCall = false
  for (const message of messages) {
    const isCall = calls.has(message.method ?? '')
    if (isCall && hasCall)
      answers.push(refusal(message.id ?? null, 'A batch contains one call. Send each other call alone.'))
    else {
      const response = await answer(message)
      if (response.status !== 202) answers.push(await response.json())
    }
    hasCall ||= isCall
  }
  return answers.length === 0 ? new Response(null, { status: 202 }) : Response.json(answers)
}

const refusal = (id: Message['id'] | null, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code: invalidRequest, message },
})
