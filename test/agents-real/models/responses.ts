import { openaiError } from './chatCompletions.ts'
import { pieces, words, type Protocol, type Reply, type ServerEvent } from './script.ts'

/** OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses-streaming */
export const responses: Protocol = {
  name: 'responses',
  path: /\/responses$/,
  asks: (_, body) => ({
    model: body.model,
    streams: body.stream === true,
    offersTools: (body.tools ?? []).length > 0,
  }),
  *events(reply) {
    let sequence_number = 0
    for (const { type, ...rest } of untilDone(reply))
      yield { event: type, data: { type, sequence_number: sequence_number++, ...rest } } satisfies ServerEvent
  },
  whole: reply => ({ ...head(reply), status: 'completed', output: itemsOf(reply), usage: usageOf(reply) }),
  error: openaiError,
}

type Typed = { type: string } & Record<string, unknown>

function* untilDone(reply: Reply): Iterable<Typed> {
  yield { type: 'response.created', response: { ...head(reply), status: 'in_progress', output: [], usage: null } }
  yield { type: 'response.in_progress', response: { ...head(reply), status: 'in_progress', output: [], usage: null } }
  for (const [output_index, item] of itemsOf(reply).entries()) {
    yield { type: 'response.output_item.added', output_index, item: { ...item, ...begun(item), status: 'in_progress' } }
    for (const event of piecesOf(item, reply)) yield { ...event, item_id: item.id, output_index }
    yield { type: 'response.output_item.done', output_index, item }
  }
  yield { type: 'response.completed', response: responses.whole(reply) }
}

type Item = { type: string; id: string } & Record<string, unknown>

/** The final items of a response. */
const itemsOf = ({ id, thinking, text, calls }: Reply): Item[] => [
  ...(thinking
    ? [
        {
          id: `rs_${id}`,
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: thinking }],
          encrypted_content: null,
        },
      ]
    : []),
  ...(text
    ? [
        {
          id: `msg_${id}`,
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ]
    : []),
  ...calls.map(({ id: call_id, name, input }) => ({
    id: `fc_${call_id}`,
    type: 'function_call',
    status: 'completed',
    call_id,
    ...namespaced(name),
    arguments: JSON.stringify(input),
  })),
]

/** A tool in a namespace is called by both names, written here with a dot between them. */
function namespaced(name: string): { name: string; namespace?: string } {
  const [namespace, tool] = name.split('.')
  return tool === undefined ? { name } : { name: tool, namespace }
}

const empty: Record<string, object> = {
  reasoning: { summary: [] },
  message: { content: [] },
  function_call: { arguments: '' },
}
const begun = ({ type }: Item) => empty[type]

function* piecesOf({ type, arguments: written }: Item, { thinking, text }: Reply): Iterable<Typed> {
  if (type === 'reasoning') {
    const part = { summary_index: 0 }
    yield { type: 'response.reasoning_summary_part.added', ...part, part: { type: 'summary_text', text: '' } }
    for (const delta of words(thinking)) yield { type: 'response.reasoning_summary_text.delta', ...part, delta }
    yield { type: 'response.reasoning_summary_text.done', ...part, text: thinking }
    yield { type: 'response.reasoning_summary_part.done', ...part, part: { type: 'summary_text', text: thinking } }
  } else if (type === 'message') {
    const part = { content_index: 0 }
    const whole = { type: 'output_text', text, annotations: [] }
    yield { type: 'response.content_part.added', ...part, part: { ...whole, text: '' } }
    for (const delta of words(text)) yield { type: 'response.output_text.delta', ...part, delta, logprobs: [] }
    yield { type: 'response.output_text.done', ...part, text, logprobs: [] }
    yield { type: 'response.content_part.done', ...part, part: whole }
  } else {
    const text = String(written)
    for (const delta of pieces(text)) yield { type: 'response.function_call_arguments.delta', delta }
    yield { type: 'response.function_call_arguments.done', arguments: text }
  }
}

const head = ({ id, model }: Reply) => ({
  id: `resp_${id}`,
  object: 'response',
  created_at: Math.floor(Date.now() / 1000),
  model,
  error: null,
  incomplete_details: null,
})

const usageOf = ({ usage: { input, cached, output, thought } }: Reply) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: thought },
  total_tokens: input + output,
})
