import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { extname, join } from 'node:path'
import { FastResponse } from 'srvx'
import { Problem } from '../../src/contract/errors.ts'
import { matchesEtag } from './cachedResponse.ts'

/**
 * The page's content security policy: it loads only from this server, connects only to this server, and never
 * evaluates text as script.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const pageHeaders = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}
const encodings = { br: '.br', gzip: '.gz' } as const

/** A file in the encodings that the build created. */
interface PageFile {
  type: string
  plain: Buffer
  br?: Buffer
  gzip?: Buffer
  tag: string
}

/** The built page, from memory. */
export interface PageFiles {
  /** @throws Problem NOT_FOUND if no page was built */
  page(request: IncomingMessage): Promise<Response>
  /** Returns a file with a content hash in its name, cacheable without expiry. @throws Problem NOT_FOUND */
  asset(request: IncomingMessage, name: string): Promise<Response>
}

export function createPageFiles(root: string | undefined): PageFiles {
  let read: Promise<ReadonlyMap<string, PageFile>> | undefined
  const find = async (name: string): Promise<PageFile> => {
    const file = root === undefined ? undefined : (await (read ??= readAll(root))).get(name)
    if (!file) throw new Problem('NOT_FOUND')
    return file
  }
  return {
    page: async request => respond(request, await find('index.html'), { ...pageHeaders, 'cache-control': 'no-cache' }),
    asset: async (request, name) =>
      respond(request, await find(`assets/${name}`), {
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'public, max-age=31536000, immutable',
      }),
  }
}

async function readAll(root: string): Promise<ReadonlyMap<string, PageFile>> {
  const names = (await readdir(root, { recursive: true })).map(name => name.replaceAll('\\', '/'))
  const files = await Promise.all(
    names
      .filter(name => Object.hasOwn(types, extname(name)))
      .map(async name => {
        const plain = await readFile(join(root, name))
        const packed = Object.entries(encodings).filter(([, ending]) => names.includes(name + ending))
        const made = await Promise.all(
          packed.map(async ([as, ending]) => [as, await readFile(join(root, name + ending))]),
        )
        const file = { type: types[extname(name)]!, plain, ...Object.fromEntries(made) } as Omit<PageFile, 'tag'>
        return [name, { ...file, tag: hash('sha256', plain, 'base64url') }] as const
      }),
  )
  return new Map(files)
}

function respond({ headers: asked }: IncomingMessage, file: PageFile, more: Record<string, string>): Response {
  const taken = String(asked['accept-encoding'] ?? '')
  const encoding = (['br', 'gzip'] as const).find(name => file[name] && accepts(name, taken))
  const headers = { ...more, 'content-type': file.type, vary: 'accept-encoding', etag: `"${file.tag}"` }
  if (matchesEtag(asked['if-none-match'], file.tag)) return new Response(null, { status: 304, headers })
  const bytes = encoding ? file[encoding]! : file.plain
  return new FastResponse(new Uint8Array(bytes), {
    headers: { ...headers, 'content-length': String(bytes.length), ...(encoding && { 'content-encoding': encoding }) },
  })
}

/** Whether `Accept-Encoding` names an encoding without refusing it. */
const accepts = (encoding: string, header: string): boolean =>
  header.split(',', 100).some(each => {
    const [name, ...weights] = each.toLowerCase().replace(/[ \t]/g, '').split(';')
    return name === encoding && !weights.some(weight => /^q=0(\.0*)?$/.test(weight))
  })
