/**
 * Finds the members of a JSON file of any size, and parses each with JSON.parse. stream-json and @streamparser/json parse every
 * value themselves, which takes 2.3 times as long (31 MB: 1.0 s instead of 0.42), and keep strings of any length in memory.
 */
import type { FileHandle } from 'node:fs/promises'

/**
 * A member of a list, or of an object with its key. It extends from the byte `start` to the one before `end`; `text` is its JSON
 * if requested.
 */
export interface Member {
  key: string | undefined
  start: number
  end: number
  text: string
}

/** Thrown for a broken JSON text, or one with a value that is too long or too deep. `at` is the byte, counted from 0. */
export class BrokenJson extends Error {
  readonly at: number
  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

const chunkBytes = 65_536
const maxKeyBytes = 1024
const maxDepth = 64
const [quote, backslash, comma, colon, openList, closeList, openObject, closeObject] = [
  ...Buffer.from('"\\,:[]{}'),
] as [number, number, number, number, number, number, number, number]
const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
const opens = (byte: number) => byte === openList || byte === openObject
const closes = (byte: number) => byte === closeList || byte === closeObject
const byteOrderMark = [0xef, 0xbb, 0xbf]
/** The start of a JSON text in a sequence (RFC 7464). */
const recordSeparator = 0x1e
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The position and value of the first byte at or after `start` that is not white space (including a byte order mark). */
export async function firstByte(file: FileHandle, start = 0): Promise<{ at: number; char: string } | undefined> {
  for await (const { bytes, at } of chunksOf(file, start)) {
    const index = bytes.findIndex((byte, index) => !isSpace(byte) && byte !== byteOrderMark[at + index])
    if (index >= 0) return { at: at + index, char: String.fromCharCode(bytes[index]!) }
  }
  return undefined
}

/**
 * The members of the list or object that begins at a byte of a file, one after the other. At most `maxBytes` of one are in
 * memory; without `maxBytes`, their texts are empty. Checks only the outermost structure; the rest is checked when a text is
 * parsed. Returns the position after the closing bracket.
 * @throws BrokenJson
 */
export async function* membersAt(file: FileHandle, start: number, maxBytes?: number): AsyncGenerator<Member, number> {
  let scan: Scan | undefined
  for await (const { bytes, at } of chunksOf(file, start)) {
    scan ??= begin(bytes[0]!, at, maxBytes)
    yield* take(scan, bytes, at)
    if (scan.end !== undefined) return scan.end
  }
  throw new BrokenJson('ends in the middle', start)
}

/**
 * The outermost objects of a file, one after the other, in any number of lists or in none: one JSON text, several (the pages of
 * an API), or one per line. An object has at most `maxBytes`.
 * @throws BrokenJson
 */
export async function* objectsIn(file: FileHandle, maxBytes: number): AsyncGenerator<Member> {
  const scan: Scan = { ...emptyScan(-1, maxBytes), openLists: 0 }
  let size = 0
  for await (const { bytes, at } of chunksOf(file, 0)) {
    yield* take(scan, bytes, at)
    size = at + bytes.length
  }
  if (scan.reads !== undefined || scan.openLists! > 0) throw new BrokenJson('ends in the middle', size)
}

async function* chunksOf(file: FileHandle, start: number): AsyncGenerator<{ bytes: Buffer; at: number }> {
  for (let at = start; ;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at)
    if (bytesRead === 0) return
    yield { bytes: buffer.subarray(0, bytesRead), at }
    at += bytesRead
  }
}

interface Scan {
  start: number
  end: number | undefined
  isObject: boolean
  /** The number of open lists around an object of a stream. Undefined for the members of one value. */
  openLists: number | undefined
  maxBytes: number | undefined
  /** The expected token between members, and whether the end is allowed. */
  awaits: 'key' | 'colon' | 'value' | 'comma'
  mayEnd: boolean
  /** The kind of token that is being read, and its start. Undefined between members. */
  reads: 'key' | 'value' | undefined
  since: number
  /** The number of open brackets in the token, and the position in a string. */
  depth: number
  inString: boolean
  escaped: boolean
  pieces: Buffer[]
  length: number
  key: string | undefined
}

function begin(bracket: number, start: number, maxBytes: number | undefined): Scan {
  if (!opens(bracket)) throw new BrokenJson('must be a list or an object', start)
  const isObject = bracket === openObject
  return { ...emptyScan(start, maxBytes), isObject, awaits: isObject ? 'key' : 'value' }
}

const emptyScan = (start: number, maxBytes: number | undefined): Scan => ({
  start,
  end: undefined,
  isObject: false,
  openLists: undefined,
  maxBytes,
  awaits: 'value',
  mayEnd: true,
  reads: undefined,
  since: 0,
  depth: 0,
  inString: false,
  escaped: false,
  pieces: [],
  length: 0,
  key: undefined,
})

/** The members that end in these bytes, which follow the previous ones. */
function* take(scan: Scan, bytes: Buffer, at: number): Generator<Member> {
  let from = 0
  for (let index = at === scan.start ? 1 : 0; index < bytes.length && scan.end === undefined; index++) {
    if (scan.inString) index = passText(scan, bytes, index)
    const byte = bytes[index]
    if (byte === undefined) break
    const isScalarEnd =
      scan.reads !== undefined &&
      !scan.inString &&
      scan.depth === 0 &&
      (byte === comma || closes(byte) || isSpace(byte))
    if (scan.reads === undefined) {
      if (between(scan, byte, at + index)) from = index
    } else if (isScalarEnd || readsOn(scan, byte, at + index)) {
      const last = isScalarEnd ? index : index + 1
      keepPiece(scan, bytes, from, last)
      const member = finish(scan, at + last)
      if (member) yield member
      if (isScalarEnd) between(scan, byte, at + index)
    }
  }
  if (scan.reads !== undefined) keepPiece(scan, bytes, from, bytes.length)
}

/** Continues in a string to its closing quote, or to the end of the bytes. */
function passText(scan: Scan, bytes: Buffer, from: number): number {
  for (let index = from; index < bytes.length; index++) {
    const byte = bytes[index]
    if (scan.escaped) scan.escaped = false
    else if (byte === backslash) scan.escaped = true
    else if (byte === quote) return index
  }
  return bytes.length
}

/** Processes a byte between members, and returns whether it begins a key or a value. */
function between(scan: Scan, byte: number, at: number): boolean {
  if (isSpace(byte)) return false
  if (scan.openLists !== undefined) return betweenObjects(scan, byte, at)
  if (closes(byte)) {
    if (!scan.mayEnd || (byte === closeObject) !== scan.isObject) throw unexpectedByte(byte, at)
    scan.end = at + 1
    return false
  }
  if (scan.awaits === 'comma' || scan.awaits === 'colon') {
    if (byte !== (scan.awaits === 'comma' ? comma : colon)) throw unexpectedByte(byte, at)
    Object.assign(scan, { awaits: scan.awaits === 'comma' && scan.isObject ? 'key' : 'value', mayEnd: false })
    return false
  }
  if (
    scan.awaits === 'key'
      ? byte !== quote
      : !opens(byte) && byte !== quote && !/[-\dtfn]/.test(String.fromCharCode(byte))
  )
    throw unexpectedByte(byte, at)
  Object.assign(scan, {
    reads: scan.awaits,
    since: at,
    depth: opens(byte) ? 1 : 0,
    inString: byte === quote,
    mayEnd: false,
  })
  return true
}

/** Processes a byte between the objects of a stream, and returns whether it begins one. */
function betweenObjects(scan: Scan, byte: number, at: number): boolean {
  if (byte === openObject) {
    Object.assign(scan, { reads: 'value', since: at, depth: 1 })
    return true
  }
  if (byte === openList) scan.openLists!++
  else if (byte === closeList && scan.openLists! > 0) scan.openLists!--
  else if (byte !== comma && byte !== recordSeparator && byte !== byteOrderMark[at]) throw unexpectedByte(byte, at)
  return false
}

const unexpectedByte = (byte: number, at: number) =>
  new BrokenJson(`contains an unexpected ${byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : 'character'}`, at)

/** Processes a byte of a key or a value outside of a string, and returns whether the key or value ends with it. */
function readsOn(scan: Scan, byte: number, at: number): boolean {
  if (scan.inString) scan.inString = false
  else if (byte === quote) {
    scan.inString = true
    return false
  } else if (opens(byte)) {
    if (++scan.depth > maxDepth) throw new BrokenJson(`nests deeper than ${maxDepth} levels`, at)
  } else if (closes(byte)) scan.depth--
  else return false
  return scan.depth === 0
}

function keepPiece(scan: Scan, bytes: Buffer, from: number, to: number): void {
  const maxBytes = scan.reads === 'key' ? maxKeyBytes : scan.maxBytes
  if (maxBytes === undefined) return
  scan.length += to - from
  if (scan.length > maxBytes)
    throw new BrokenJson(
      `contains ${scan.reads === 'key' ? 'a key' : 'an entry'} of more than ${maxBytes} bytes`,
      scan.since,
    )
  scan.pieces.push(bytes.subarray(from, to))
}

function finish(scan: Scan, end: number): Member | undefined {
  const text = decode(scan)
  const { reads, key, since } = scan
  Object.assign(scan, {
    reads: undefined,
    pieces: [],
    length: 0,
    awaits: reads === 'key' ? 'colon' : 'comma',
    mayEnd: reads !== 'key',
  })
  if (reads === 'value') return { key, start: since, end, text }
  scan.key = parse(text, since) as string
  return undefined
}

function decode({ pieces, since }: Scan): string {
  try {
    return utf8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))
  } catch {
    throw new BrokenJson('is not UTF-8', since)
  }
}

/** @throws BrokenJson */
export function parse(text: string, at: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BrokenJson('is not valid JSON', at)
  }
}
