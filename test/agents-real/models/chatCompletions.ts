import { pieces, words, type Protocol, type Reply } from './script.ts'

/** OpenAI's Chat Completions API: https://platform.openai.com/docs/api-reference/chat-streaming */
export const chatCompletions: Protocol = {
  name: 'chat',
  path: /\/chat\/completions$/,
  asks: (_, body) => ({
    model: body.model,
    streams: body.stream === true,
    offersTools: (body.tools ?? []).length > 0,
  }),
  *events(reply) {
    const head = { id: `chatcmpl-${reply.id}`, object: 'chat.completion.chunk', created: now(), model: reply.model }
    for (const delta of deltasOf(reply))
      yield { data: { ...head, choices: [{ index: 0, delta, finish_reason: null }], usage: null } }
    yield { data: { ...head, choices: [{ index: 0, delta: {}, finish_reason: finishReason(reply) }], usage: null } }
    yield { data: { ...head, choices: [], usage: usageOf(reply) } }
    yield { data: '[DONE]' }
  },
  whole: reply => ({
    id: `chatcmpl-${reply.id}`,
    object: 'chat.completion',
    created: now(),
    model: reply.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: reply.text || null,
          ...(reply.calls.length > 0 && { tool_calls: reply.calls.map(call => wholeCall(call)) }),
        },
        finish_reason: finishReason(reply),
      },
    ],
    usage: usageOf(reply),
  }),
  error: (status, message) => openaiError(status, message),
}

const codes: Record<number, [type: string, code: string | null]> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  404: ['invalid_request_error', 'model_not_found'],
  429: ['requests', 'rate_limit_exceeded'],
}
export function openaiError(status: number, message: string): object {
  const [type, code] = codes[status] ?? ['server_error', null]
  return { error: { message, type, param: null, code } }
}

const now = () => Math.floor(Date.now() / 1000)
const finishReason = ({ calls }: Reply) => (calls.length > 0 ? 'tool_calls' : 'stop')
const wholeCall = ({ id, name, input }: Reply['calls'][number]) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
})
const usageOf = ({ usage: { input, cached, output, thought } }: Reply) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: thought },
})

function* deltasOf({ thinking, text, calls }: Reply) {
  yield { role: 'assistant', content: '' }
  for (const word of words(thinking)) yield { reasoning_content: word }
  for (const word of words(text)) yield { content: word }
  for (const [index, { id, name, input }] of calls.entries()) {
    yield { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
    for (const piece of pieces(JSON.stringify(input))) yield { tool_calls: [{ index, function: { arguments: piece } }] }
  }
}
