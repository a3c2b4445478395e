import { request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

interface Got {
  status: number
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
}

/** The bytes on the wire, without the decompression of `fetch`. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> =>
  new Promise((resolve, reject) => {
    request(new URL(board.url), { path, headers, method }, answer => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.on('end', () =>
        resolve({ status: answer.statusCode!, headers: answer.headers, bytes: Buffer.concat(pieces) }),
      )
    })
      .on('error', reject)
      .end()
  })

const assets = async () =>
  [...(await get('/')).bytes.toString().matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, path]) => path!)

test('the page can load from and connect to its own server only, and cannot evaluate text as a script', async () => {
  const { status, headers, bytes } = await get('/')
  expect(status).toBe(200)
  const policy = String(headers['content-security-policy'])
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ])
    expect(policy).toContain(rule)
  expect(policy).not.toMatch(/unsafe|https?:|\*/)
  expect(headers).toMatchObject({
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  })
  const text = bytes.toString()
  expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|style=/)
  expect(text.match(/(?:src|href)="(?!\.\/assets\/)/g)).toBe(null)
  expect(await get('/', { 'if-none-match': String(headers.etag) })).toMatchObject({ status: 304 })
})

test('every file of it is cached permanently, and compressed for clients that accept it', async () => {
  const paths = await assets()
  expect(paths.length).toBeGreaterThan(4)
  for (const path of paths) {
    const plain = await get(`/${path}`)
    expect(plain).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' },
    })
    const br = await get(`/${path}`, { 'accept-encoding': 'gzip, deflate, br' })
    const gz = await get(`/${path}`, { 'accept-encoding': 'gzip, br;q=0' })
    if (path.endsWith('.png')) expect(br.headers['content-encoding']).toBe(undefined)
    else {
      expect([br.headers['content-encoding'], gz.headers['content-encoding']]).toEqual(['br', 'gzip'])
      expect(brotliDecompressSync(br.bytes).equals(plain.bytes) && gunzipSync(gz.bytes).equals(plain.bytes)).toBe(true)
    }
  }
})

test('a file is compressed only for clients that accept it, with any spaces and case in the header', async () => {
  const [path] = await assets()
  const encodingFor = async (taken: string) =>
    (await get(`/${path}`, { 'accept-encoding': taken })).headers['content-encoding']
  for (const taken of ['br', 'BR', 'gzip;q=0 ,\tbr ; q=0.5', 'br;q=1.0'])
    expect(await encodingFor(taken), taken).toBe('br')
  for (const taken of ['', 'identity', 'br; q=0', 'br ;q=0.000, gzip ; Q=0', 'x-br', 'gzip-none'])
    expect(await encodingFor(taken), taken).toBe(undefined)
})

test('a path that is not a file of the page returns 404, in any encoding', async () => {
  for (const name of [
    'none.js',
    '..%2findex.html',
    '%2e%2e%2f%2e%2e%2fserver.js',
    'main.js.br',
    '%00',
    '__proto__',
    'constructor',
  ])
    expect((await get(`/assets/${name}`)).status, name).toBe(404)
})

test('a board without a built page reports that', async () => {
  const bare = await startBoard({ webRoot: undefined })
  expect((await bare.request('GET', '/')).status).toBe(404)
  await bare.close()
})

test('HEAD returns the length and no body', async () => {
  const { status, headers, bytes } = await get('/', {}, 'HEAD')
  expect([status, bytes.length, Number(headers['content-length']) > 300]).toEqual([200, 0, true])
})
