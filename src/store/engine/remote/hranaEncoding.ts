import type { Statement, Step } from './hrana.ts'

/*
 * Messages of the Hrana protocol, version 3 in protobuf, of which the board needs four: hello, opening and closing a stream, and
 * a batch (https://github.com/tursodatabase/libsql/blob/main/docs/HRANA_3_SPEC.md). @libsql/hrana-client encodes and decodes the
 * whole protocol, with which a write takes the board 1.7 to 2 times as long (src/store/engine/remote/hranaHttp.ts still uses it).
 */

/** The wire type of a field, which is encoded with its number. */
export const [varintType, fixed64, lengthDelimited] = [0, 1, 2]

const [usualBytes, maxKeptBytes] = [16 * 1024, 1024 * 1024]

/** Writes a message from its end to its beginning, so that the length of nested fields is known when their header is written. */
class Writer {
  #buffer = Buffer.allocUnsafe(usualBytes)
  #at = this.#buffer.length

  get length(): number {
    return this.#buffer.length - this.#at
  }

  /** Discards the current message, including one that failed to encode. */
  begin(): void {
    if (this.#buffer.length > maxKeptBytes) this.#buffer = Buffer.allocUnsafe(usualBytes)
    this.#at = this.#buffer.length
  }

  take(): Buffer {
    return Buffer.from(this.#buffer.subarray(this.#at))
  }

  /** Wraps everything written since `length` was `before` as a field. */
  wrap(field: number, before = 0): void {
    this.#varint(this.length - before)
    this.#byte((field << 3) | lengthDelimited)
  }

  text(field: number, value: string): void {
    const [before, length] = [this.length, Buffer.byteLength(value)]
    this.#reserve(length)
    this.#at -= length
    this.#buffer.write(value, this.#at)
    this.wrap(field, before)
  }

  /** Writes a number below 2^31. */
  number(field: number, value: number): void {
    this.#varint(value)
    this.#byte((field << 3) | varintType)
  }

  whole(field: number, value: number): void {
    if (value >= 0 && value < 2 ** 30) this.#varint(2 * value)
    else this.#bytes(zigzagBytes(BigInt(value)))
    this.#byte((field << 3) | varintType)
  }

  float(field: number, value: number): void {
    this.#reserve(8)
    this.#buffer.writeDoubleLE(value, (this.#at -= 8))
    this.#byte((field << 3) | fixed64)
  }

  #varint(value: number): void {
    if (value < 0x80) return this.#byte(value)
    const bytes: number[] = []
    for (let left = value; ; left >>>= 7) {
      if (left < 0x80) {
        bytes.push(left)
        return this.#bytes(bytes)
      }
      bytes.push((left & 0x7f) | 0x80)
    }
  }

  #bytes(bytes: readonly number[]): void {
    for (let index = bytes.length - 1; index >= 0; index--) this.#byte(bytes[index]!)
  }

  #byte(value: number): void {
    this.#reserve(1)
    this.#buffer[--this.#at] = value
  }

  #reserve(length: number): void {
    if (this.#at >= length) return
    const written = this.#buffer.subarray(this.#at)
    this.#buffer = Buffer.allocUnsafe(2 * (written.length + length))
    this.#at = this.#buffer.length - written.length
    this.#buffer.set(written, this.#at)
  }
}

function zigzagBytes(value: bigint): number[] {
  const bytes: number[] = []
  for (let left = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n)); ; left >>= 7n) {
    const byte = Number(left & 0x7fn)
    if (left < 0x80n) return [...bytes, byte]
    bytes.push(byte | 0x80)
  }
}

const writer = new Writer()

export function encodeHello(token: string | undefined): Buffer {
  writer.begin()
  if (token !== undefined) writer.text(1, token)
  writer.wrap(1)
  return writer.take()
}

export const encodeOpenStream = (request: number, stream: number): Buffer => encodeStreamRequest(request, 2, stream)
export const encodeCloseStream = (request: number, stream: number): Buffer => encodeStreamRequest(request, 3, stream)

function encodeStreamRequest(request: number, kind: number, stream: number): Buffer {
  writer.begin()
  writer.number(1, stream)
  writer.wrap(kind)
  return endRequest(request)
}

export function encodeBatch(request: number, stream: number, steps: readonly Step[]): Buffer {
  writer.begin()
  for (const step of steps.toReversed()) writeStep(step)
  writer.wrap(2)
  writer.number(1, stream)
  writer.wrap(5)
  return endRequest(request)
}

function endRequest(request: number): Buffer {
  writer.number(1, request)
  writer.wrap(2)
  return writer.take()
}

function writeStep({ statement: { sql, args }, needs, inside }: Step): void {
  const before = writer.length
  writer.number(5, 1)
  for (const arg of args.toReversed()) writeValue(arg)
  writer.text(1, sql)
  writer.wrap(2, before)
  if (inside || needs !== undefined) writeCondition(inside, needs)
  writer.wrap(1, before)
}

function writeCondition(inside: boolean, needs: number | undefined): void {
  const before = writer.length
  if (needs !== undefined) {
    writer.number(1, needs)
    if (inside) writer.wrap(1, before)
  }
  if (inside) {
    const inner = writer.length
    writer.wrap(6, inner)
    writer.wrap(3, inner)
    if (needs !== undefined) {
      writer.wrap(1, inner)
      writer.wrap(4, before)
    }
  }
  writer.wrap(1, before)
}

function writeValue(arg: Statement['args'][number]): void {
  const before = writer.length
  if (arg === null) writer.wrap(1, before)
  else if (typeof arg === 'string') writer.text(4, arg)
  else if (Number.isSafeInteger(arg)) writer.whole(2, arg)
  else writer.float(3, arg)
  writer.wrap(3, before)
}
