import type { Readable, Writable } from 'node:stream'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { handle, newReading, type Reading } from '../link/drainOutput.ts'
import { AgentFailure, type RawUpdate } from '../link/agentLink.ts'

/** The longest line that is read as a message: pictures come in base64. */
export const longestMessageBytes = 16 * 1024 * 1024
/** Some agents print a greeting or a warning among their messages. More than this between two messages is not the protocol. */
const mostStrayLines = 100
const newline = 0x0a

export interface Tap {
  /** An update of a session, in order. A returned promise holds back what follows. */
  update(sessionId: string, update: RawUpdate, bytes: number): void | Promise<void>
  /** A request of the agent's, before it is handed on. */
  request(method: string, params: unknown): void | Promise<void>
  /** The answer to a request of ours, before it is handed on. */
  answer(method: string, result: unknown): void | Promise<void>
  /** A line that is no message. */
  stray(line: Buffer): void
}

type Json = Record<string, unknown>
const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The messages of an agent as a stream for the protocol's package. Updates of sessions go to the tap alone: raw, so that kinds
 * that the package does not know are kept, and one at a time, so that a flood waits in the pipe and not in memory.
 */
export function createWire(stdin: Writable, stdout: Readable, tap: Tap): { stream: Stream; reading: Reading } {
  const asked = new Map<unknown, string>()
  const reading = newReading()
  const write = (message: AnyMessage) => {
    if ('method' in message && 'id' in message) asked.set(message.id, message.method)
    return writeLine(stdin, JSON.stringify(message))
  }
  return {
    stream: {
      readable: ReadableStream.from(messages(stdout, tap, asked, reading)),
      writable: new WritableStream({ write }),
    },
    reading,
  }
}

async function* messages(
  stdout: Readable,
  tap: Tap,
  asked: Map<unknown, string>,
  reading: Reading,
): AsyncGenerator<AnyMessage> {
  let strayLines = 0
  try {
    for await (const line of lines(stdout)) {
      const message = parse(line)
      const kind = message && kindOf(message, asked)
      if (message && kind !== undefined) {
        strayLines = 0
        await handle(reading, tell(tap, kind, message, asked, line.length))
        if (kind !== 'update') yield message as AnyMessage
      } else {
        tap.stray(line)
        if (++strayLines > mostStrayLines)
          throw new AgentFailure(
            'protocol_violation',
            'The agent writes to its output what is not of the Agent Client Protocol.',
          )
      }
    }
  } finally {
    reading.ended = true
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
  asked: Map<unknown, string>,
): 'update' | 'request' | 'notification' | 'answer' | undefined {
  const { method, id, params } = message
  if (method === undefined) return asked.has(id) ? 'answer' : undefined
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

function tell(
  tap: Tap,
  kind: 'update' | 'request' | 'notification' | 'answer',
  message: Json,
  asked: Map<unknown, string>,
  bytes: number,
): void | Promise<void> {
  if (kind === 'update') {
    const { sessionId, update } = message.params as { sessionId: string; update: RawUpdate }
    return tap.update(sessionId, update, bytes)
  }
  if (kind === 'request') return tap.request(message.method as string, message.params)
  if (kind !== 'answer') return undefined
  const method = asked.get(message.id)!
  asked.delete(message.id)
  return 'result' in message ? tap.answer(method, message.result) : undefined
}

/** The lines of a stream, without copies of more than one line. @throws AgentFailure protocol_violation when a line is too long */
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
      if (size > longestMessageBytes)
        throw new AgentFailure(
          'protocol_violation',
          `The agent sent a message of more than ${longestMessageBytes / 1024 / 1024} MiB.`,
        )
    }
  }
  if (parts.length) yield Buffer.concat(parts)
}

/** Settles when the agent's end of the pipe has room again. @throws Error when the pipe is gone */
const writeLine = (stdin: Writable, line: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stdin.write(`${line}\n`, error => (error ? reject(error) : resolve()))
  })
