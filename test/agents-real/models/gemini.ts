import { words, type Protocol, type Reply } from './script.ts'

const statuses: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}
const asked = /\/models\/([^/:]+):(stream)?[gG]enerateContent$/

/** Google's Gemini API: https://ai.google.dev/api/generate-content */
export const gemini: Protocol = {
  name: 'gemini',
  path: asked,
  asks(path, body) {
    const [, model = '', streams] = asked.exec(path) ?? []
    const { responseJsonSchema, responseSchema } = body.generationConfig ?? {}
    return {
      model,
      streams: streams !== undefined,
      offersTools: (body.tools ?? []).length > 0,
      schema: responseJsonSchema ?? responseSchema,
    }
  },
  *events(reply) {
    const { usageMetadata, ...head } = headOf(reply)
    for (const text of words(reply.thinking)) yield { data: { ...head, ...candidate([{ text, thought: true }]) } }
    for (const text of words(reply.text)) yield { data: { ...head, ...candidate([{ text }]) } }
    yield { data: { ...head, ...candidate(callsOf(reply), 'STOP'), usageMetadata } }
  },
  whole: reply => ({
    ...headOf(reply),
    ...candidate([...(reply.text ? [{ text: reply.text }] : []), ...callsOf(reply)], 'STOP'),
  }),
  error: (status, message) => ({ error: { code: status, message, status: statuses[status] ?? 'UNKNOWN' } }),
}

const candidate = (parts: object[], finishReason?: string) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
})

const callsOf = ({ calls }: Reply) =>
  calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input }, thoughtSignature: 'c2lnbmVk' }))

const headOf = ({ id, model, usage: { input, cached, output, thought } }: Reply) => ({
  responseId: id,
  modelVersion: model,
  usageMetadata: {
    promptTokenCount: input,
    cachedContentTokenCount: cached,
    candidatesTokenCount: output - thought,
    thoughtsTokenCount: thought,
    totalTokenCount: input + output,
  },
})
