import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { dataOf } from './envelope.ts'
import { fileOf, responseMarkers, type FileHead } from './fileHeaders.ts'
import { openExchange, type Exchange } from './exchange.ts'
import { headersOf, parseJson, toUnreachable, type CallOptions, type Connection } from './http.ts'
import { askRenewed } from './place.ts'

/** A file that is being received from the server. */
export interface Download extends FileHead {
  body: Readable
}
/** A file to send to the server: a path on this machine, with a callback for the progress in bytes. */
export interface Upload {
  path: string
  filename?: string
  onProgress?: (sentBytes: number, totalBytes: number) => void
}

/** The time that a server can spend on an upload, or before it starts to send. */
const maxWorkMs = 30 * 60_000

/**
 * Downloads a file, or a response without a name, as a stream.
 * @throws ApiFailure | Unreachable
 */
export async function download(
  connection: Connection,
  { method, transfer }: { method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'; transfer: 'file' | 'raw' },
  path: string,
  input?: unknown,
  options?: CallOptions,
): Promise<Download> {
  const sent = input === undefined ? undefined : JSON.stringify(input)
  const answer = await ask(connection, path, method === 'GET', () => ({
    method,
    body: sent,
    headers: headersOf(connection, sent, options),
    signal: options?.signal,
  }))
  const { status, headers, body } = answer
  if (status >= 300 || headers[responseMarkers[transfer]] === undefined) await jsonOf(connection, answer, path, options)
  return { ...fileOf(headers), body }
}

/**
 * Streams a file as the field `file` of a multipart body, without holding it in memory.
 * @throws ApiFailure | Unreachable, or the file system's error.
 */
export async function upload(
  connection: Connection,
  path: string,
  file: Upload,
  options?: CallOptions,
): Promise<unknown> {
  const { size } = await stat(file.path)
  const boundary = `board-${crypto.randomUUID()}`
  const name = (file.filename ?? basename(file.path)).replace(/["\r\n]/g, encodeURIComponent)
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`
  const tail = `\r\n--${boundary}--\r\n`
  const answer = await ask(connection, path, false, () => ({
    method: 'POST',
    signal: options?.signal,
    body: () => Readable.from(parts(head, file, size, tail)),
    headers: {
      ...headersOf(connection, undefined, options),
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(Buffer.byteLength(head) + size + tail.length),
    },
  }))
  return jsonOf(connection, answer, path, options)
}

async function* parts(head: string, file: Upload, size: number, tail: string): AsyncGenerator<Buffer> {
  yield Buffer.from(head)
  let sent = 0
  for await (const chunk of createReadStream(file.path) as AsyncIterable<Buffer>) {
    yield chunk
    file.onProgress?.((sent += chunk.length), size)
  }
  yield Buffer.from(tail)
}

interface StreamedAnswer {
  status: number
  headers: IncomingMessage['headers']
  body: IncomingMessage
}

/** @param requestOf creates the request again for a new place */
function ask(
  connection: Connection,
  path: string,
  isSafe: boolean,
  requestOf: () => Omit<Exchange, 'timeoutMs'>,
): Promise<StreamedAnswer> {
  return askRenewed(connection, isSafe, async () => {
    const url = new URL(connection.url.replace(/\/$/, '') + path)
    const request = {
      ...requestOf(),
      certificate: connection.certificate,
      timeoutMs: connection.timeoutMs === 0 ? 0 : maxWorkMs,
    }
    try {
      const body = await openExchange(url, request)
      return { status: body.statusCode!, headers: body.headers, body }
    } catch (error) {
      throw toUnreachable(url, request.signal, error)
    }
  })
}

/** The data of a response that is not a file. @throws ApiFailure | Unreachable */
async function jsonOf(
  connection: Connection,
  { status, headers, body }: StreamedAnswer,
  path: string,
  options?: CallOptions,
): Promise<unknown> {
  const chunks = await body.toArray().catch((error: unknown) => {
    throw toUnreachable(new URL(connection.url), options?.signal, error)
  })
  const text = Buffer.concat(chunks).toString()
  return dataOf(connection.url, { status, headers, body: parseJson(text), asked: { path } })
}
