import { array, assert, asyncProperty, constantFrom, nat, oneof, tuple } from 'fast-check'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, request as requestHttp, type ClientRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { receiveFile } from '../../daemon/files/multipartUpload.ts'
import { saveFile } from '../../src/files/attachmentFiles.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { end, part, refusal, startUploads, type Uploads } from '../support/servers/uploads.ts'

const maxAttachmentBytes = 2 * 1024 * 1024
let uploads: Uploads
beforeAll(async () => {
  uploads = await startUploads({ maxAttachmentBytes })
})
afterAll(() => uploads.board.close())
afterEach(() => {
  if (uploads.filesOnDisk().some(name => name.endsWith('.part'))) throw new Error('A half file is left.')
})

test('a file is returned byte for byte, with its hash, as a download that browsers neither open nor run', async () => {
  await uploads.freshCard()
  const bytes = randomBytes(1_500_000)
  const { status, body } = await uploads.upload('data.bin', bytes)
  expect(status).toBe(201)
  expect(body.data).toEqual({
    id: expect.any(String),
    cardId: uploads.cardId,
    filename: 'data.bin',
    contentType: 'application/octet-stream',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    createdAt: expect.any(String),
  })
  const answer = await uploads.download(body.data.id)
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-length': String(bytes.length),
    'content-disposition': 'attachment; filename="data.bin"; filename*=UTF-8\'\'data.bin',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    etag: `"${body.data.sha256}"`,
  })
  expect((await uploads.board.client.attachments.list(uploads.card())).map(({ id }) => id)).toEqual([body.data.id])
})

test('the typed client uploads and downloads, also an empty file', async () => {
  await uploads.freshCard()
  const file = join(uploads.board.folder('up'), 'naïve "q".txt')
  writeFileSync(file, 'from the client\n')
  const made = await uploads.board.client.attachments.create({ ...uploads.card(), file: { path: file } })
  expect(made).toMatchObject({ filename: 'naïve "q".txt', contentType: 'text/plain', size: 16 })
  const got = await uploads.board.client.attachments.download({ attachmentId: made.id })
  expect([got.filename, await got.body.toArray().then(parts => Buffer.concat(parts).toString())]).toEqual([
    'naïve "q".txt',
    'from the client\n',
  ])
  const empty = (await uploads.upload('empty.txt', '')).body.data
  expect(empty).toMatchObject({ size: 0, contentType: 'text/plain' })
  const answer = await uploads.download(empty.id)
  expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([200, '0', ''])
})

test.each([
  ['../../etc/passwd', 'passwd'],
  ['..\\\\..\\\\windows\\\\win.ini', 'win.ini'],
  ['C:\\Users\\me\\a.txt', 'a.txt'],
  ['/abs/olute.txt', 'olute.txt'],
  ['..', 'attachment'],
  ['.', 'attachment'],
  ['', 'attachment'],
  ['dir/', 'attachment'],
  ['a\u0000b.txt', 'ab.txt'],
  ['a\u0007\u009b31mb.txt', 'a31mb.txt'],
  ['cod\u202egpj.exe', 'codgpj.exe'],
  ['  spaced.txt  ', 'spaced.txt'],
  ['日本語 – ü.pdf', '日本語 – ü.pdf'],
  ['.gitignore', '.gitignore'],
  [`${'x'.repeat(300)}.tar.gz`, `${'x'.repeat(252)}.gz`],
  [`${'日'.repeat(100)}.md`, `${'日'.repeat(84)}.md`],
  ['<script>alert(1)</script>.html', 'script>.html'],
  ['a;b,c%0d%0aX: y.txt', 'a;b,c%0d%0aX: y.txt'],
])('the name %j is stored as %j, and never names a file on the server', async (sent, kept) => {
  await uploads.freshCard()
  const { status, body } = await uploads.upload(sent, 'x')
  expect([status, body.data?.filename]).toEqual([201, kept])
  expect(uploads.filesOnDisk().every(name => /^[0-9a-f]{32}$/.test(name))).toBe(true)
  const disposition = (await uploads.download(body.data.id)).headers.get('content-disposition')!
  expect(disposition).toMatch(/^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\w.!~%-]+$/)
  expect(decodeURIComponent(disposition.split("''")[1]!)).toBe(kept)
})

const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'),
  Buffer.alloc(40),
])
test.each([
  ['image.html', png, 'image/png'],
  ['page.html', '<html><script>alert(1)</script>', 'text/plain'],
  ['drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'text/plain'],
  ['drawing.svg', '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', 'text/plain'],
  ['drawing.png', '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', 'application/octet-stream'],
  ['evil.png', '<html><script>alert(1)</script>', 'application/octet-stream'],
  ['polyglot.html', Buffer.concat([png, Buffer.from('<script>alert(1)</script>')]), 'image/png'],
  ['gif.js', 'GIF89a/*<svg onload=alert(1)>*/=1;', 'image/gif'],
  ['notes.md', '# hi', 'text/markdown'],
  ['table.csv', 'a,b', 'text/csv'],
  ['data.json', '{}', 'application/json'],
  ['script.js', 'alert(1)', 'text/plain'],
  ['binary.txt', Buffer.from([0, 1, 2, 255]), 'application/octet-stream'],
  ['latin1.txt', Buffer.from([0x61, 0xe9, 0x61]), 'application/octet-stream'],
  ['cut.txt', `${'x'.repeat(4099)}é`, 'text/plain'],
  ['README', 'text', 'application/octet-stream'],
  ['paper.pdf', '%PDF-1.4\n%EOF', 'application/pdf'],
  ['x.__proto__', 'text', 'application/octet-stream'],
  ['program', Buffer.from('7f454c4602010100', 'hex'), 'application/octet-stream'],
  ['module.wasm', Buffer.from('0061736d01000000', 'hex'), 'application/octet-stream'],
])(
  '%s gets the content type of its bytes, regardless of the type that the client sends',
  async (filename, body, contentType) => {
    await uploads.freshCard()
    const made = (await uploads.upload(filename, body, 'text/html')).body.data
    expect(made.contentType).toBe(contentType)
    expect((await uploads.download(made.id)).headers.get('content-type')).toBe(contentType)
  },
)

test('text gets a text type if its name ends like a source, script or configuration file', async () => {
  await uploads.freshCard()
  const endings =
    'txt text log diff patch ini conf cfg env toml rst adoc tex html htm xhtml xml svg css js mjs cjs jsx ts tsx mts py rb go rs java kt c h cc cpp hpp cs php pl swift scala lua r sh bash zsh fish ps1 bat sql graphql proto vue svelte'.split(
      ' ',
    )
  const told = async (ending: string) => (await uploads.upload(`name.${ending}`, 'text')).body.data.contentType
  for (const ending of [...endings, 'TXT']) expect(await told(ending), ending).toBe('text/plain')
  expect([await told('markdown'), await told('tsv'), await told('yaml'), await told('yml')]).toEqual([
    'text/markdown',
    'text/tab-separated-values',
    'application/yaml',
    'application/yaml',
  ])
})

test('a body that is not one file in the field file is rejected with the reason, and leaves no file', async () => {
  await uploads.freshCard()
  const before = uploads.filesOnDisk()
  const file = part('file', 'a.txt', 'x')
  expect(refusal(await uploads.send(end))).toEqual([400, 'VALIDATION_FAILED', 'file'])
  expect(refusal(await uploads.send(Buffer.concat([part('file', undefined, 'just text'), end])))).toEqual([
    400,
    'VALIDATION_FAILED',
    'file',
  ])
  expect(refusal(await uploads.send(Buffer.concat([file, part('file', 'b.txt', 'y'), end])))).toEqual([
    400,
    'VALIDATION_FAILED',
    'file',
  ])
  expect(refusal(await uploads.send(Buffer.concat([part('upload', 'a.txt', 'x'), end])))).toEqual([
    400,
    'VALIDATION_FAILED',
    'upload',
  ])
  expect(refusal(await uploads.send(Buffer.concat([file, part('note', undefined, 'y'), end])))).toEqual([
    400,
    'VALIDATION_FAILED',
    'note',
  ])
  expect(refusal(await uploads.send(Buffer.concat([part('note', undefined, 'y'), file, end])))).toEqual([
    400,
    'VALIDATION_FAILED',
    'note',
  ])
  expect(refusal(await uploads.send(file))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await uploads.send(file.subarray(0, 30)))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await uploads.send(Buffer.from('no parts at all')))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await uploads.send(Buffer.alloc(0)))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await uploads.send(Buffer.concat([file, end]), { 'content-type': 'multipart/form-data' }))[0]).toBe(
    415,
  )
  expect(
    refusal(await uploads.send(Buffer.concat([file, end]), { 'content-type': 'multipart/form-data; charset=utf-8' })),
  ).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(
    refusal(
      await uploads.send(Buffer.concat([file, end]), {
        'content-type': `multipart/form-data; boundary=${'b'.repeat(300)}`,
      }),
    ),
  ).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await uploads.send(Buffer.from('{}'), { 'content-type': 'application/json' }))).toEqual([
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    undefined,
  ])
  expect(
    refusal(
      await uploads.send(
        Buffer.concat([
          Buffer.from(`--xyz\r\n${'X-Long: y\r\n'.repeat(5000)}`),
          file.subarray('--xyz\r\n'.length),
          end,
        ]),
      ),
    ),
  ).toEqual([400, 'VALIDATION_FAILED', 'file'])
  expect(uploads.filesOnDisk()).toEqual(before)
  expect(await uploads.board.client.attachments.list(uploads.card())).toEqual([])
})

test('a body that would stall its parser is rejected immediately', async () => {
  await uploads.freshCard()
  const field = `--xyz\n\r\nContent-Disposition: form-data; name="note"\r\n\r\nx\r${'x'.repeat(20_000)}\n`
  const body = Buffer.concat([Buffer.from(field), part('file', 'a.txt', 'hello'), part('file', 'b.txt', 'y'), end])
  const began = performance.now()
  const { status } = await uploads.send(body)
  expect(performance.now() - began).toBeLessThan(10_000 * slowdown())
  // The parser accepts it if it happens to arrive in small pieces.
  expect([201, 400]).toContain(status)
})

test('a body with any truncation, insertion or change is accepted or rejected immediately', async () => {
  await uploads.freshCard()
  const whole = Buffer.concat([
    part('note', undefined, 'x'),
    part('file', 'a.txt', 'hello world'),
    part('file', 'b.txt', 'y'),
    end,
  ])
  const place = nat({ max: whole.length })
  const piece = constantFrom(
    '--xyz',
    '\r\n',
    '--',
    '\r\n\r\n',
    'Content-Disposition: form-data; name="file"; filename="q"',
    '\0',
    '"',
    '\n',
    '--xyz--',
    'x'.repeat(20_000),
  )
  const bend = oneof(
    place.map(at => (body: Buffer) => body.subarray(0, at)),
    tuple(place, nat({ max: 40 })).map(
      ([at, length]) =>
        (body: Buffer) =>
          Buffer.concat([body.subarray(0, at), body.subarray(at + length)]),
    ),
    tuple(place, piece).map(
      ([at, text]) =>
        (body: Buffer) =>
          Buffer.concat([body.subarray(0, at), Buffer.from(text), body.subarray(at)]),
    ),
  )
  await assert(
    asyncProperty(array(bend, { minLength: 1, maxLength: 4 }), async bends => {
      const { status } = await uploads.send(bends.reduce<Buffer>((body, each) => each(body), whole))
      expect([201, 400]).toContain(status)
    }),
    { numRuns: Number(process.env.BOARD_FUZZ_RUNS ?? 100), timeout: 5000 * slowdown() },
  )
})

test('a file can have exactly the maximum size and not a byte more, with or without a Content-Length', async () => {
  await uploads.freshCard()
  const before = uploads.filesOnDisk().length
  expect((await uploads.upload('full.bin', Buffer.alloc(maxAttachmentBytes))).status).toBe(201)
  expect(refusal(await uploads.upload('over.bin', Buffer.alloc(maxAttachmentBytes + 1)))).toEqual([
    413,
    'BODY_TOO_LARGE',
    undefined,
  ])
  expect(refusal(await uploads.upload('far-over.bin', Buffer.alloc(maxAttachmentBytes * 4)))).toEqual([
    413,
    'BODY_TOO_LARGE',
    undefined,
  ])
  expect(await chunked(Buffer.concat([part('file', 'x.bin', Buffer.alloc(maxAttachmentBytes * 4)), end]))).toBe(413)
  expect(uploads.filesOnDisk().length).toBe(before + 1)
})

test('an interrupted upload leaves no file', async () => {
  await uploads.freshCard()
  const before = uploads.filesOnDisk()
  const aborted = open({ 'content-length': '1000000' })
  aborted.write(part('file', 'a.bin', Buffer.alloc(300_000)))
  await eventually('a file in the making', () =>
    uploads
      .filesOnDisk()
      .some(
        name => name.endsWith('.part') && statSync(join(uploads.board.dataDir, 'attachments', name)).size >= 200_000,
      ),
  )
  aborted.destroy()
  await eventually('nothing left', () => uploads.filesOnDisk().length === before.length)
  expect(await uploads.board.client.attachments.list(uploads.card())).toEqual([])
})

test.each([
  ['stalls', ''],
  ['dribbles', 'x'],
])('an upload that %s is aborted', async (_, piece) => {
  const problem = new Promise<unknown>(resolve => {
    const server = createServer((request, response) => {
      receiveFile(request, {
        maxBytes: 10_000,
        idleMs: 500,
        save: bytes => saveFile(uploads.board.folder('stalled'), bytes, undefined),
        discard: async () => {},
      })
        .catch(resolve)
        .finally(() => {
          response.end()
          server.close()
        })
    }).listen(0, '127.0.0.1', () => {
      const request = requestHttp({
        port: (server.address() as AddressInfo).port,
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=xyz', 'content-length': '5000' },
      }).on('error', () => {
        /* the server gives up */
      })
      request.write(part('file', 'a.txt', 'x'))
      const dribbling = setInterval(() => {
        if (!request.destroyed) request.write(piece)
      }, 10)
      request.on('response', () => request.destroy()).on('close', () => clearInterval(dribbling))
    })
  })
  expect(await problem).toMatchObject({ code: 'REQUEST_TIMEOUT' })
  expect(readdirSync(uploads.board.folder('stalled'))).toEqual([])
})

test('a large upload and a large download are streamed', async () => {
  const big = await startBoard({ maxAttachmentBytes: 400 * 1024 * 1024 })
  const project = await big.client.projects.create({ name: 'P', path: big.folder('p') })
  const card = await big.client.cards.create({ projectId: project.id, title: 'Card' })
  const file = join(big.folder('up'), 'big.bin')
  writeFileSync(file, '')
  truncateSync(file, 256 * 1024 * 1024)
  const atRest = usedBytes()
  let peak = 0
  const look = setInterval(() => {
    peak = Math.max(peak, usedBytes() - atRest)
  }, 5)
  const made = await big.client.attachments.create({ projectId: project.id, cardId: card.id, file: { path: file } })
  const { body } = await big.client.attachments.download({ attachmentId: made.id })
  let size = 0
  for await (const chunk of body) size += (chunk as Buffer).length
  clearInterval(look)
  expect([made.size, size]).toEqual([256 * 1024 * 1024, 256 * 1024 * 1024])
  expect(peak).toBeLessThan(64 * 1024 * 1024)
  await big.close()
})

function open(headers: Record<string, string> = {}): ClientRequest {
  const { hostname, port } = new URL(uploads.board.url)
  const request = requestHttp({
    hostname,
    port,
    path: uploads.path,
    method: 'POST',
    headers: {
      authorization: `Bearer ${uploads.board.token}`,
      'content-type': 'multipart/form-data; boundary=xyz',
      ...headers,
    },
  })
  return request.on('error', () => {
    /* it is broken off on purpose */
  })
}

const chunked = (body: Buffer) =>
  new Promise<number>((resolve, reject) => {
    const request = open({ 'transfer-encoding': 'chunked' })
    request.on('response', response => resolve(response.resume().statusCode!)).on('error', reject)
    request.end(body)
  })

const usedBytes = () => process.memoryUsage().heapUsed + process.memoryUsage().external
