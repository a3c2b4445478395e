import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Problem } from '../../src/contract/errors.ts'
import { matchesEtag } from './cachedResponse.ts'

/** A file to send. Its bytes never change; `sha256` is their hash, hexadecimal. */
export interface SentFile {
  path: string
  filename: string
  contentType: string
  size: number
  sha256: string
}

/**
 * Answers with a file, or with its requested range, as a download that browsers neither open nor run. Returns undefined if the file is
 * missing on disk or has another size.
 */
export async function sendFile(request: IncomingMessage, file: SentFile): Promise<Response | undefined> {
  const headers = new Headers({
    'content-type': file.contentType,
    'content-disposition': attachmentHeader(file.filename),
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    etag: `"${file.sha256}"`,
  })
  if (matchesEtag(request.headers['if-none-match'], file.sha256)) return new Response(null, { status: 304, headers })
  const range = readRange(request, file)
  if (range === 'unsatisfiable') return refuseRange(headers, file.size)
  const handle = await openExact(file)
  if (!handle) return undefined
  const { start, end } = range ?? { start: 0, end: file.size - 1 }
  headers.set('content-length', String(end - start + 1))
  if (range) headers.set('content-range', `bytes ${start}-${end}/${file.size}`)
  const isEmpty = file.size === 0 || request.method === 'HEAD'
  if (isEmpty) await handle.close()
  return new Response(isEmpty ? null : (Readable.toWeb(handle.createReadStream({ start, end })) as ReadableStream), {
    status: range ? 206 : 200,
    headers,
  })
}

/** RFC 6266: a name in plain ASCII for old programs, and the real one in UTF-8. */
export function attachmentHeader(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(filename).replace(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

async function openExact({ path, size }: SentFile): Promise<FileHandle | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined)
  const stats = await handle?.stat()
  if (stats?.isFile() && stats.size === size) return handle
  await handle?.close()
  return undefined
}

/**
 * Parses one byte range. Several ranges, another unit or an invalid value count as no range header (RFC 9110, section
 * 14.2).
 */
function readRange(
  { headers, method }: IncomingMessage,
  { size, sha256 }: SentFile,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range ?? '')
  if (
    !match ||
    method !== 'GET' ||
    (match[1] === '' && match[2] === '') ||
    (headers['if-range'] !== undefined && headers['if-range'] !== `"${sha256}"`)
  )
    return undefined
  const [first, last] = [match[1]!, match[2]!]
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  return start >= size || start > end ? 'unsatisfiable' : { start, end }
}

function refuseRange(headers: Headers, size: number): Response {
  for (const name of ['content-disposition', 'etag', 'cache-control']) headers.delete(name)
  headers.set('content-type', 'application/json; charset=utf-8')
  headers.set('content-range', `bytes */${size}`)
  return new Response(JSON.stringify({ error: new Problem('RANGE_NOT_SATISFIABLE') }), { status: 416, headers })
}
