import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { anthropic } from './anthropic.ts'
import { chatCompletions } from './chatCompletions.ts'
import { gemini } from './gemini.ts'
import { responses } from './responses.ts'
import type { Answer, Failure, JsonSchema, Protocol, Reply, Turn } from './script.ts'

const protocols = [anthropic, chatCompletions, responses, gemini]
const modelName = 'scripted'

/** A request to the model server. */
export interface Asked {
  method: string
  path: string
  query: string
  headers: IncomingMessage['headers']
  /** The key of the request, in any protocol. */
  key: string | null
  protocol: string | null
  model: string | null
  offersTools: boolean
  body: any
}

/** A model service on loopback that speaks four protocols and plays a script. */
export interface ModelServer {
  url: string
  asked: Asked[]
  /** Plays these turns from now on. Each tool call advances to the next turn; the last one is repeated. */
  play(...turns: Turn[]): void
  close(): Promise<void>
}

export async function startModelServer(): Promise<ModelServer> {
  const stage = createStage()
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    void text(request).then(body => {
      const each = readRequest(request, body)
      asked.push(each)
      return answer(each, stage, response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    play: stage.play,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function readRequest(request: IncomingMessage, text: string): Asked {
  const { pathname: path, searchParams, search: query } = new URL(request.url!, 'http://model')
  const { headers } = request
  const body = text.startsWith('{') ? JSON.parse(text) : text
  const protocol = protocols.find(each => request.method === 'POST' && each.path.test(path))
  const key =
    headers.authorization?.replace(/^Bearer /, '') ??
    headers['x-api-key'] ??
    headers['x-goog-api-key'] ??
    searchParams.get('key')
  return {
    method: request.method!,
    path,
    query,
    headers,
    key: key === undefined ? null : String(key),
    protocol: protocol?.name ?? null,
    model: protocol?.asks(path, body).model ?? null,
    offersTools: protocol?.asks(path, body).offersTools ?? false,
    body,
  }
}

/** The current turn follows from the calls in the conversation, so that side requests and repeated requests do not advance it. */
function createStage() {
  let turns: readonly Turn[] = [{ text: 'I was not told what to do.' }]
  let scene = 0
  let failed: number[] = []
  const isSpent = (turn: Turn, index: number) =>
    'fails' in turn && turn.times !== undefined && (failed[index] ?? 0) >= turn.times
  return {
    play(...next: Turn[]) {
      turns = next
      failed = []
      scene++
    },
    /** The turn for a conversation, and the prefix of its calls' ids. */
    turnFor(body: unknown): { turn: Turn; callPrefix: string } {
      const played = [...JSON.stringify(body).matchAll(new RegExp(`call_${scene}_(\\d+)_`, 'g'))].map(([, at]) =>
        Number(at),
      )
      let index = played.length > 0 ? Math.max(...played) + 1 : 0
      while (index < turns.length - 1 && isSpent(turns[index]!, index)) index++
      index = Math.min(index, turns.length - 1)
      const turn = turns[index]!
      if ('fails' in turn) failed[index] = (failed[index] ?? 0) + 1
      return { turn, callPrefix: `call_${scene}_${index}_` }
    },
  }
}

async function answer(asked: Asked, stage: ReturnType<typeof createStage>, response: ServerResponse): Promise<void> {
  const protocol = protocols.find(({ name }) => name === asked.protocol)
  if (!protocol) return answerElse(asked, response)
  const { turn, callPrefix } = stage.turnFor(asked.body)
  const { model, streams, offersTools, schema } = protocol.asks(asked.path, asked.body)
  if ('fails' in turn && typeof turn.fails === 'number') return fail(protocol, turn, turn.fails, response)
  if ('fails' in turn && turn.fails === 'stalls') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    return
  }
  const isCut = 'fails' in turn
  const given: Answer = isCut ? { text: 'This is where it was cut' } : offersTools ? turn : aside(schema)
  const reply = replyOf(given, model, callPrefix, asked.body)
  if (!streams) return isCut ? void response.destroy() : sendJson(response, 200, protocol.whole(reply))
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const events = [...protocol.events(reply)]
  for (const { event, data } of isCut ? events.slice(0, Math.ceil(events.length / 2)) : events)
    response.write(
      `${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
    )
  if (isCut) setTimeout(() => response.destroy(), 50)
  else response.end()
}

/** A response to a request outside the conversation: for a title, or for a choice in JSON. */
const aside = (schema?: JsonSchema): Answer => ({
  text: schema ? JSON.stringify(exampleOf(schema)) : 'A short title',
  usage: { input: 50, output: 5 },
})
const exampleOf = ({ type, enum: choices, properties = {} }: JsonSchema): unknown => {
  if (choices) return choices[0]
  if (/^object$/i.test(type ?? ''))
    return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, exampleOf(each)]))
  return /^(number|integer)$/i.test(type ?? '')
    ? 1
    : /^boolean$/i.test(type ?? '')
      ? true
      : /^array$/i.test(type ?? '')
        ? []
        : 'short'
}

const replyOf = (
  { thinking = '', text = '', calls = [], usage }: Answer,
  model: string,
  callPrefix: string,
  body: unknown,
): Reply => ({
  id: `${callPrefix}${Math.random().toString(36).slice(2, 10)}`,
  model,
  thinking,
  text,
  calls: calls.map(({ name, input }, at) => ({
    id: `${callPrefix}${at}`,
    name,
    input: typeof input === 'function' ? input(JSON.stringify(body).replaceAll('\\', '')) : input,
  })),
  usage: { input: 1000, cached: 0, output: 20, thought: 0, ...usage },
})

function fail(
  protocol: Protocol,
  { message, body, retryAfter }: Failure,
  status: number,
  response: ServerResponse,
): void {
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
  sendJson(response, status, body ?? protocol.error(status, message ?? `The model server fails with ${status}.`))
}

/** Lists of models and token counts, in the formats of all protocols. */
function answerElse({ path }: Asked, response: ServerResponse): void {
  if (path.endsWith('/models'))
    return sendJson(response, 200, {
      object: 'list',
      data: [
        { id: modelName, object: 'model', type: 'model', display_name: 'Scripted', created: 0, owned_by: 'nobody' },
      ],
      models: [{ name: `models/${modelName}`, supportedGenerationMethods: ['generateContent'] }],
      has_more: false,
    })
  if (path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: 1000 })
  if (path.endsWith(':countTokens')) return sendJson(response, 200, { totalTokens: 1000 })
  return sendJson(response, 404, { error: { message: 'There is nothing here.' } })
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
