import { pieces, words, type Protocol, type Reply, type ServerEvent } from './script.ts'

const errorTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** Anthropic's Messages API: https://docs.anthropic.com/en/api/messages-streaming */
export const anthropic: Protocol = {
  name: 'anthropic',
  path: /\/messages$/,
  asks: (_, body) => ({
    model: body.model,
    streams: body.stream === true,
    offersTools: (body.tools ?? []).length > 0,
  }),
  *events(reply) {
    const { output_tokens, ...input } = usageOf(reply)
    yield typed('message_start', {
      message: { ...head(reply), content: [], stop_reason: null, usage: { ...input, output_tokens: 1 } },
    })
    for (const [index, block] of blocksOf(reply).entries()) {
      yield typed('content_block_start', { index, content_block: block.begin })
      for (const delta of block.deltas) yield typed('content_block_delta', { index, delta })
      yield typed('content_block_stop', { index })
    }
    yield typed('message_delta', {
      delta: { stop_reason: stopReason(reply), stop_sequence: null },
      usage: { output_tokens },
    })
    yield typed('message_stop', {})
  },
  whole: reply => ({
    ...head(reply),
    content: blocksOf(reply).map(({ whole }) => whole),
    stop_reason: stopReason(reply),
    usage: usageOf(reply),
  }),
  error: (status, message) => ({ type: 'error', error: { type: errorTypes[status] ?? 'api_error', message } }),
}

const typed = (type: string, rest: object): ServerEvent => ({ event: type, data: { type, ...rest } })

const head = ({ id, model }: Reply) => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
  stop_sequence: null,
})

const stopReason = ({ calls }: Reply) => (calls.length > 0 ? 'tool_use' : 'end_turn')

const usageOf = ({ usage: { input, cached, output } }: Reply) => ({
  input_tokens: input - cached,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cached,
  output_tokens: output,
})

/** The blocks of a response: the start of each, its pieces, and its final form. */
function blocksOf({ thinking, text, calls }: Reply): Array<{ begin: object; deltas: object[]; whole: object }> {
  const thought = {
    begin: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...words(thinking).map(each => ({ type: 'thinking_delta', thinking: each })),
      { type: 'signature_delta', signature: 'c2lnbmVk' },
    ],
    whole: { type: 'thinking', thinking, signature: 'c2lnbmVk' },
  }
  const said = {
    begin: { type: 'text', text: '' },
    deltas: words(text).map(each => ({ type: 'text_delta', text: each })),
    whole: { type: 'text', text },
  }
  const called = calls.map(({ id, name, input }) => ({
    begin: { type: 'tool_use', id, name, input: {} },
    deltas: pieces(JSON.stringify(input)).map(each => ({ type: 'input_json_delta', partial_json: each })),
    whole: { type: 'tool_use', id, name, input },
  }))
  return [...(thinking ? [thought] : []), ...(text ? [said] : []), ...called]
}
