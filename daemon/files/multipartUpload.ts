import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import type { IncomingMessage } from 'node:http'
import { invalid, Problem } from '../../src/contract/errors.ts'

export interface UploadOptions<T> {
  maxBytes: number
  /** The maximum time until the next 16 KiB, or the end, arrives. */
  idleMs?: number
  /** Saves the file's bytes. A thrown error fails the upload. */
  save(bytes: AsyncIterable<Buffer>, sentName: string | undefined): Promise<T>
  /** Undoes `save` if the rest of the body is invalid. */
  discard(saved: T): Promise<void>
}

const usualIdleMs = 30_000
const minBytesPerPause = 16_384
/** The maximum time without parser progress. Some invalid bodies never finish. */
const stuckMs = 1000
const maxOverheadBytes = 65_536
const limits = { files: 1, fields: 8, parts: 10, fieldSize: 1024, headerPairs: 32, headerSize: 16_384 }

/**
 * Receives a multipart/form-data body with exactly one file, the field `file`, as a stream that is never in memory whole.
 * @throws Problem UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, REQUEST_TIMEOUT, VALIDATION_FAILED, or what `save` throws
 */
export async function receiveFile<T>(request: IncomingMessage, options: UploadOptions<T>): Promise<T> {
  const tooLarge = () => new Problem('BODY_TOO_LARGE', `The maximum file size is ${options.maxBytes} bytes.`)
  try {
    if (!/^multipart\/form-data\s*;/i.test(request.headers['content-type'] ?? ''))
      throw new Problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be multipart/form-data.')
    if (Number(request.headers['content-length'] ?? 0) > options.maxBytes + maxOverheadBytes) throw tooLarge()
    return await receive(request, openParser(request, options.maxBytes), options, tooLarge)
  } catch (error) {
    request.resume()
    throw error
  }
}

function openParser(request: IncomingMessage, maxBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...request.headers, 'content-type': request.headers['content-type']! },
      preservePath: true,
      limits: { ...limits, fileSize: maxBytes },
    })
  } catch (error) {
    throw invalidBody(error)
  }
}

const invalidBody = (cause?: unknown) => new Problem('VALIDATION_FAILED', 'The multipart body is not valid.', { cause })

async function receive<T>(
  request: IncomingMessage,
  parser: BusboyInstance,
  options: UploadOptions<T>,
  tooLarge: () => Problem,
): Promise<T> {
  let saving: Promise<T> | undefined
  try {
    await parse(request, parser, options.idleMs ?? usualIdleMs, (stream, filename, fail) => {
      stream.on('limit', () => fail(tooLarge()))
      saving = options.save(stream as AsyncIterable<Buffer>, filename)
      saving.catch(fail)
    })
    if (!saving) throw invalid('file', 'is required')
    return await saving
  } catch (error) {
    await saving?.then(options.discard, () => {
      /* `save` cleans up after its own failure. */
    })
    throw error
  }
}

type Fail = (error: Error) => void

/** Resolves when the whole body has been read and is valid. The first error also ends the file's stream. */
function parse(
  request: IncomingMessage,
  parser: BusboyInstance,
  idleMs: number,
  onFile: (stream: BusboyFileStream, filename: string | undefined, fail: Fail) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let file: BusboyFileStream | undefined
    let failed = false
    const fail: Fail = error => {
      failed = true
      stopWatching()
      request.unpipe(parser)
      file?.destroy(error)
      reject(error)
    }
    const isStuck = () => (parser.writableLength > 0 || parser.writableEnded) && !file?.readableLength
    const stopWatching = watchProgress(request, idleMs, isStuck, fail)
    parser.on('file', (name, stream, filename) => {
      // The function that saves the file destroys the stream when it fails: its own failure is reported, not this one.
      file = stream.on('error', error => {
        if (error.name !== 'AbortError') fail(error)
      })
      // The invalid chunk can also contain a file.
      if (failed) file.destroy()
      else if (name === 'file') onFile(stream, filename, fail)
      else fail(invalid(String(name).slice(0, 100), 'is not a known field. Send the file in the field "file"'))
    })
    parser.on('field', name =>
      fail(
        name === 'file'
          ? invalid('file', 'must be a file')
          : invalid(String(name).slice(0, 100), 'is not a known field'),
      ),
    )
    parser
      .on('filesLimit', () => fail(invalid('file', 'must be exactly one file')))
      .on('partsLimit', () => fail(invalidBody()))
    parser
      .on('error', error => fail(invalidBody(error)))
      .on('finish', () => {
        stopWatching()
        resolve()
      })
    request
      .on('error', error => fail(invalidBody(error)))
      .on('close', () => {
        if (!request.complete) fail(invalidBody())
      })
    request.pipe(parser)
  })
}

/**
 * Fails a stalled upload: no bytes arrive for `idleMs`, or the parser is stuck.
 * @returns a function that stops the watch
 */
function watchProgress(request: IncomingMessage, idleMs: number, isStuck: () => boolean, fail: Fail): () => void {
  const idle = setTimeout(() => fail(request.complete ? invalidBody() : new Problem('REQUEST_TIMEOUT')), idleMs)
  const stuck = setInterval(() => isStuck() && fail(invalidBody()), stuckMs)
  let newBytes = 0
  request.on('data', (chunk: Buffer) => {
    newBytes += chunk.length
    if (newBytes < minBytesPerPause) return
    newBytes = 0
    idle.refresh()
  })
  return () => {
    clearTimeout(idle)
    clearInterval(stuck)
  }
}
