import { ServerError, type Rows, type StepResult } from './hrana.ts'
import { fixed64, lengthDelimited, varintType } from './hranaEncoding.ts'

/** A message from the server: about the connection as a whole, or the response to a request. A batch has results. */
export type ServerMessage =
  | { type: 'hello' }
  | { type: 'refusal'; error: ServerError }
  | { type: 'failure'; request: number; error: ServerError }
  | { type: 'answer'; request: number; results: Array<StepResult | undefined> }

/** An integer beyond JavaScript's safe range. Only the statement that returned it fails. */
class TooLarge extends RangeError {}

/** @throws RangeError for a message that ends too early */
export function decode(message: Buffer): ServerMessage {
  const reader = new Reader(message, message.length)
  switch (reader.next()) {
    case 2:
      return { type: 'refusal', error: reader.inside(readOneError) }
    case 3:
      return reader.inside(readAnswer)
    case 4:
      return reader.inside(readFailure)
    default:
      return { type: 'hello' }
  }
}

/** Reads the fields of a message one after another. */
class Reader {
  readonly buffer: Buffer
  #end: number
  at = 0
  #type = varintType

  constructor(buffer: Buffer, end: number) {
    this.buffer = buffer
    this.#end = end
  }

  /** The next field's number. 0 at the end. Callers must skip the fields that they do not read. */
  next(): number {
    if (this.at >= this.#end) return 0
    const key = this.number()
    this.#type = key & 7
    return key >>> 3
  }

  skip(): void {
    if (this.#type === lengthDelimited) this.at = this.#bounded(this.number())
    else if (this.#type === varintType) while (this.buffer[this.at++]! >= 0x80);
    else this.at = this.#bounded(this.#type === fixed64 ? 8 : 4)
  }

  /** Reads a message that is a field of this one. */
  inside<T>(read: (reader: Reader) => T): T {
    const end = this.#bounded(this.number())
    const outer = this.#end
    this.#end = end
    try {
      return read(this)
    } finally {
      this.#end = outer
      this.at = end
    }
  }

  text(): string {
    const end = this.#bounded(this.number())
    const value = this.buffer.toString('utf8', this.at, end)
    this.at = end
    return value
  }

  bytes(): ArrayBuffer {
    const end = this.#bounded(this.number())
    const value = Uint8Array.prototype.slice.call(this.buffer, this.at, end).buffer
    this.at = end
    return value as ArrayBuffer
  }

  float(): number {
    const value = this.buffer.readDoubleLE(this.at)
    this.at += 8
    return value
  }

  /** A number that is not negative. */
  number(): number {
    let [value, factor] = [0, 1]
    for (;;) {
      const byte = this.buffer[this.at++]
      if (byte === undefined) throw new RangeError('A message of the database server is incomplete.')
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
      factor *= 0x80
    }
  }

  whole(): number {
    const start = this.at
    const value = this.number()
    if (this.at - start <= 7) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    this.at = start
    const number = this.roundedWhole()
    if (!Number.isSafeInteger(number)) throw new TooLarge('The database contains an integer that is too large.')
    return number
  }

  /** A whole number, rounded beyond 2^53. */
  roundedWhole(): number {
    const start = this.at
    this.number()
    let exact = 0n
    for (let index = this.at - 1; index >= start; index--) exact = (exact << 7n) | BigInt(this.buffer[index]! & 0x7f)
    return Number((exact >> 1n) ^ -(exact & 1n))
  }

  #bounded(length: number): number {
    const end = this.at + length
    if (end > this.#end) throw new RangeError('A message of the database server is incomplete.')
    return end
  }
}

function readAnswer(reader: Reader): ServerMessage {
  let request = 0
  let results: Array<StepResult | undefined> = []
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) request = reader.number()
    else if (field === 5) results = reader.inside(readBatch)
    else reader.skip()
  return { type: 'answer', request, results }
}

function readFailure(reader: Reader): ServerMessage {
  let request = 0
  let error: ServerError | undefined
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) request = reader.number()
    else if (field === 2) error = reader.inside(readError)
    else reader.skip()
  return { type: 'failure', request, error: error ?? new ServerError('', undefined) }
}

function readOneError(reader: Reader): ServerError {
  let error: ServerError | undefined
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) error = reader.inside(readError)
    else reader.skip()
  return error ?? new ServerError('', undefined)
}

function readError(reader: Reader): ServerError {
  let message = ''
  let code: string | undefined
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) message = reader.text()
    else if (field === 2) code = reader.text()
    else reader.skip()
  return new ServerError(message, code)
}

function readBatch(reader: Reader): Array<StepResult | undefined> {
  let results: Array<StepResult | undefined> = []
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) results = reader.inside(readResults)
    else reader.skip()
  return results
}

function readResults(reader: Reader): Array<StepResult | undefined> {
  const results: Array<StepResult | undefined> = []
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1 || field === 2) reader.inside(entry => readEntry(entry, field === 1, results))
    else reader.skip()
  return results
}

/** An entry of a map. Protobuf omits default values. */
function readEntry(reader: Reader, succeeded: boolean, results: Array<StepResult | undefined>): void {
  let step = 0
  let result: StepResult | undefined
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) step = reader.number()
    else if (field === 2) result = succeeded ? readRowsResult(reader) : { error: reader.inside(readError) }
    else reader.skip()
  results[step] = result ?? (succeeded ? { rows: nothing } : { error: new ServerError('', undefined) })
}

const nothing: Rows = { columns: [], rows: [], changes: 0, lastId: 0 }

function readRowsResult(reader: Reader): StepResult {
  try {
    return { rows: reader.inside(readRows) }
  } catch (error) {
    if (error instanceof TooLarge) return { error }
    throw error
  }
}

function readRows(reader: Reader): Rows {
  const rows: unknown[][] = []
  let [changes, lastId] = [0, 0]
  // The columns come first.
  const start = reader.at
  let end = start
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) {
      reader.skip()
      end = reader.at
    } else if (field === 2) rows.push(reader.inside(readRow))
    else if (field === 3) changes = reader.number()
    // A full-text table without content gives internal rows of deleted cards IDs beyond 2^53.
    else if (field === 4) lastId = reader.roundedWhole()
    else reader.skip()
  return { columns: columnsOf(reader.buffer, start, end), rows, changes, lastId }
}

const maxKnownColumns = 500
const knownColumns = new Map<string, readonly string[]>()

/** The names of a statement's columns, cached because they make up most of a response with one row. */
function columnsOf(buffer: Buffer, start: number, end: number): readonly string[] {
  if (start === end) return nothing.columns
  const key = buffer.toString('latin1', start, end)
  let columns = knownColumns.get(key)
  if (!columns) {
    if (knownColumns.size === maxKnownColumns) knownColumns.clear()
    const reader = new Reader(buffer, end)
    reader.at = start
    const names: string[] = []
    for (let field = reader.next(); field !== 0; field = reader.next())
      if (field === 1) names.push(reader.inside(readColumn))
      else reader.skip()
    knownColumns.set(key, (columns = names))
  }
  return columns
}

function readColumn(reader: Reader): string {
  let name = ''
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) name = reader.text()
    else reader.skip()
  return name
}

function readRow(reader: Reader): unknown[] {
  const values: unknown[] = []
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) values.push(reader.inside(readValue))
    else reader.skip()
  return values
}

function readValue(reader: Reader): unknown {
  switch (reader.next()) {
    case 1:
      return null
    case 2:
      return reader.whole()
    case 3:
      return reader.float()
    case 4:
      return reader.text()
    case 5:
      return reader.bytes()
    default:
      throw new RangeError('The database server sends a value of an unknown type.')
  }
}
