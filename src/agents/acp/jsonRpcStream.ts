import type { Readable, Writable } from 'node:stream'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { AgentFailure, type RawUpdate } from '../link/agentLink.ts'
import { createOutputReader, handleChunk, type OutputReader } from '../link/drainOutput.ts'
import { type Json } from '../link/json.ts'

/** Messages can hold images in base64. */
const maxMessageBytes = 16 * 1024 * 1024
/** Some agents print a greeting or a warning between messages. More lines than this violate the protocol. */
const maxUnparsedLines = 100
const newline = 0x0a

export interface RawListener {
  /** Called with the updates of sessions, in order. The next message is not read until a returned promise resolves (backpressure). */
  update(sessionId: string, update: RawUpdate, bytes: number): void | Promise<void>
  /** Called with each request of the agent before the protocol's package receives it. */
  request(method: string, params: unknown): void | Promise<void>
  /** Called with each response to a request of the board before the protocol's package receives it. */
  response(method: string, result: unknown): void | Promise<void>
  /** Called with each line that is not a JSON-RPC message. */
  onInvalidLine(line: Buffer): void
}

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The JSON-RPC messages of an agent as a stream for the protocol's package. Session updates bypass the package, which drops kinds that
 * it does not know, and go to the listener one at a time, so that a flood waits in the pipe and not in memory.
 */
export function createJsonRpcStream(
  stdin: Writable,
  stdout: Readable,
  listener: RawListener,
): { stream: Stream; reader: OutputReader } {
  const sentRequests = new Map<unknown, string>()
  const reader = createOutputReader()
  const write = (message: AnyMessage) => {
    if ('method' in message && 'id' in message) sentRequests.set(message.id, message.method)
    return writeLine(stdin, JSON.stringify(message))
  }
  return {
    stream: {
      readable: ReadableStream.from(messages(stdout, listener, sentRequests, reader)),
      writable: new WritableStream({ write }),
    },
    reader,
  }
}

async function* messages(
  stdout: Readable,
  listener: RawListener,
  sentRequests: Map<unknown, string>,
  reader: OutputReader,
): AsyncGenerator<AnyMessage> {
  let unparsedLines = 0
  try {
    for await (const line of lines(stdout)) {
      const message = parse(line)
      const kind = message && kindOf(message, sentRequests)
      if (message && kind !== undefined) {
        unparsedLines = 0
        await handleChunk(reader, dispatch(listener, kind, message, sentRequests, line.length))
        if (kind !== 'update') yield message as AnyMessage
      } else {
        listener.onInvalidLine(line)
        if (++unparsedLines > maxUnparsedLines)
          throw new AgentFailure(
            'protocol_violation',
            'The output of the agent does not follow the Agent Client Protocol.',
          )
      }
    }
  } finally {
    reader.ended = true
  }
}

function parse(line: Buffer): Json | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function kindOf(
  message: Json,
  sentRequests: Map<unknown, string>,
): 'update' | 'request' | 'notification' | 'response' | undefined {
  const { method, id, params } = message
  if (method === undefined) return sentRequests.has(id) ? 'response' : undefined
  if (typeof method !== 'string') return undefined
  if ('id' in message) return typeof id === 'string' || typeof id === 'number' ? 'request' : undefined
  if (method !== 'session/update') return 'notification'
  return isRecord(params) &&
    typeof params.sessionId === 'string' &&
    isRecord(params.update) &&
    typeof params.update.sessionUpdate === 'string'
    ? 'update'
    : undefined
}

function dispatch(
  listener: RawListener,
  kind: 'update' | 'request' | 'notification' | 'response',
  message: Json,
  sentRequests: Map<unknown, string>,
  bytes: number,
): void | Promise<void> {
  if (kind === 'update') {
    const { sessionId, update } = message.params as { sessionId: string; update: RawUpdate }
    return listener.update(sessionId, update, bytes)
  }
  if (kind === 'request') return listener.request(message.method as string, message.params)
  if (kind !== 'response') return undefined
  const method = sentRequests.get(message.id)!
  sentRequests.delete(message.id)
  return 'result' in message ? listener.response(method, message.result) : undefined
}

/** The lines of a stream. Buffers at most one line. @throws AgentFailure protocol_violation if a line is too long */
async function* lines(stdout: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let size = 0
  for await (const chunk of stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; start = end + 1, end = chunk.indexOf(newline, start)) {
      const line = parts.length ? Buffer.concat([...parts, chunk.subarray(start, end)]) : chunk.subarray(start, end)
      parts = []
      size = 0
      if (line.length > 0 && !(line.length === 1 && line[0] === 0x0d)) yield line
    }
    if (start < chunk.length) {
      parts.push(chunk.subarray(start))
      size += chunk.length - start
      if (size > maxMessageBytes)
        throw new AgentFailure(
          'protocol_violation',
          `The agent sent a message of more than ${maxMessageBytes / 1024 / 1024} MiB.`,
        )
    }
  }
  if (parts.length) yield Buffer.concat(parts)
}

/** Resolves when the line is flushed to the pipe. @throws Error if the pipe is closed */
const writeLine = (stdin: Writable, line: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stdin.write(`${line}\n`, error => (error ? reject(error) : resolve()))
  })
