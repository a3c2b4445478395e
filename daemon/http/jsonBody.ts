import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '../../src/contract/errors.ts'
import { fieldsOnce } from './validate.ts'

/** The maximum time for a body, and the minimum rate after that time. */
const [graceMs, minBytesPerSec] = [10_000, 16_384]
/**
 * The part of each body that is not counted against the budget. It is smaller than the cost of a connection, and lets users sign in while
 * anonymous clients use up the budget.
 */
const uncountedBytes = 1024

/** The memory that bodies of requests use together, from their first byte until the request is answered. */
export class BodyMemory {
  readonly #maxBytes: number
  #heldBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** @throws Problem RATE_LIMITED if other bodies hold too much memory */
  reserve(bytes: number): void {
    if (this.#heldBytes + bytes > this.#maxBytes)
      throw new Problem('RATE_LIMITED', 'The server is receiving too much data. Try again in a few seconds.', {
        retryAfterSecs: 2,
      })
    this.#heldBytes += bytes
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes
  }
}

export interface BodyLimits {
  maxBytes: number
  memory: BodyMemory
}

/**
 * Reads a body as its bytes arrive.
 * @throws Problem BODY_TOO_LARGE, REQUEST_TIMEOUT, RATE_LIMITED, INVALID_JSON if the body is incomplete
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Promise<Buffer> {
  const declared = declaredOf(request)
  if (declared === 0) return Buffer.alloc(0)
  if (declared > limits.maxBytes) throw tooLarge(limits)
  return readBytes(request, new BodyBuffer(response, limits, declared))
}

/** Returns the declared length. NaN if there is none. */
const declaredOf = ({ headers }: IncomingMessage): number =>
  Number(headers['content-length'] ?? (headers['transfer-encoding'] ? Number.NaN : 0))

/**
 * Reads a JSON body. No body is an empty object.
 * @throws Problem UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, REQUEST_TIMEOUT, RATE_LIMITED, INVALID_JSON
 */
export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Promise<unknown> {
  if (declaredOf(request) === 0) return {}
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('UNSUPPORTED_MEDIA_TYPE')
  const bytes = await readBody(request, response, limits)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch (error) {
    throw new Problem('INVALID_JSON', undefined, { cause: error })
  }
}

/**
 * Reads a form of a standard. Each field can occur once.
 * @throws Problem UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, REQUEST_TIMEOUT, RATE_LIMITED, VALIDATION_FAILED
 */
export async function readForm(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Promise<Record<string, string>> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/x-www-form-urlencoded.')
  const bytes = await readBody(request, response, limits)
  return fieldsOnce(bytes.toString('utf8'), 'A field occurs more than once.')
}

const tooLarge = ({ maxBytes }: BodyLimits) =>
  new Problem('BODY_TOO_LARGE', `The maximum body size is ${maxBytes} bytes.`)

/** The received bytes of a body in one buffer: many one-byte chunks would use two hundred times as much memory. */
class BodyBuffer {
  size = 0
  #bytes: Buffer = Buffer.alloc(0)
  #counted = 0
  readonly #response: ServerResponse
  readonly #limits: BodyLimits
  readonly #declared: number

  constructor(response: ServerResponse, limits: BodyLimits, declared: number) {
    this.#response = response
    this.#limits = limits
    this.#declared = declared
  }

  /** @throws Problem BODY_TOO_LARGE, RATE_LIMITED */
  add(chunk: Buffer): void {
    const size = this.size + chunk.length
    if (size > this.#limits.maxBytes) throw tooLarge(this.#limits)
    if (this.size === 0 && size === this.#declared) {
      this.#count(size)
      this.#bytes = chunk
    } else {
      if (size > this.#bytes.length) this.#grow(size)
      chunk.copy(this.#bytes, this.size)
    }
    this.size = size
  }

  toBuffer(): Buffer {
    return this.#bytes.subarray(0, this.size)
  }

  #grow(size: number): void {
    const room = Math.min(this.#limits.maxBytes, Math.max(size, 2 * this.#bytes.length, uncountedBytes))
    this.#count(room)
    const grown = Buffer.allocUnsafe(room)
    this.#bytes.copy(grown, 0, 0, this.size)
    this.#bytes = grown
  }

  #count(room: number): void {
    const more = Math.max(0, room - uncountedBytes) - this.#counted
    if (more <= 0) return
    const { memory } = this.#limits
    memory.reserve(more)
    if (this.#counted === 0) this.#response.once('close', () => memory.release(this.#counted))
    this.#counted += more
  }
}

function readBytes(request: IncomingMessage, collected: BodyBuffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const finish = (onFinished: () => void) => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
      onFinished()
    }
    const fail = (error: unknown) =>
      finish(() => {
        request.resume()
        reject(error as Problem)
      })
    const onData = (chunk: Buffer) => {
      try {
        collected.add(chunk)
      } catch (error) {
        fail(error)
      }
    }
    const onEnd = () => finish(() => resolve(collected.toBuffer()))
    const onError = (error: Error) => fail(new Problem('INVALID_JSON', 'The body is incomplete.', { cause: error }))
    const onClose = () => fail(new Problem('INVALID_JSON', 'The body is incomplete.'))
    const began = performance.now()
    const checkProgress = () => {
      if (collected.size < (minBytesPerSec * (performance.now() - began)) / 1000)
        return fail(new Problem('REQUEST_TIMEOUT'))
      timer = setTimeout(checkProgress, 1000)
    }
    let timer = setTimeout(checkProgress, graceMs)
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  })
}
