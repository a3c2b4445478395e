import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, request as requestHttp, type ClientRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { receiveFile } from '../../daemon/upload.ts'
import { saveFile, sweepAttachments } from '../../src/domain/attachmentFiles.ts'
import { eventually, startBoard, type Reply, type TestBoard } from '../helper.ts'

const maxAttachmentBytes = 2 * 1024 * 1024
let board: TestBoard
let projectId: string
let cardId: string
let path: string
beforeAll(async () => {
  board = await startBoard({ maxAttachmentBytes })
  projectId = (await board.client.projects.create({ name: 'P', path: board.folder('p') })).id
})
afterAll(() => board.close())
afterEach(() => expect(filesOnDisk().filter(name => name.endsWith('.part'))).toEqual([]))

const freshCard = async () => {
  cardId = (await board.client.cards.create({ projectId, title: 'Card' })).id
  path = `/api/projects/${projectId}/cards/${cardId}/attachments`
}
const filesOnDisk = () => readdirSync(join(board.dataDir, 'attachments'))
const part = (name: string, filename: string | undefined, body: string | Buffer, type = 'text/html') => Buffer.concat([
  Buffer.from(`--xyz\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n${filename === undefined ? '' : `Content-Type: ${type}\r\n`}\r\n`), Buffer.from(body), Buffer.from('\r\n'),
])
const end = Buffer.from('--xyz--\r\n')
const send = (raw: Buffer, headers: Record<string, string> = {}) => board.request('POST', path, { raw, headers: { 'content-type': 'multipart/form-data; boundary=xyz', ...headers } })
const upload = (filename: string | undefined, body: string | Buffer, type?: string) => send(Buffer.concat([part('file', filename, body, type), end]))
const download = (id: string, headers: Record<string, string> = {}) => fetch(`${board.url}/api/attachments/${id}`, { headers: { authorization: `Bearer ${board.token}`, ...headers } })
const refusal = ({ status, body }: Reply) => [status, body.error.code, body.error.details?.[0]?.path]

test('a file comes back byte for byte, with its hash, as a download that nothing opens or runs', async () => {
  await freshCard()
  const bytes = randomBytes(1_500_000)
  const { status, body } = await upload('data.bin', bytes)
  expect(status).toBe(201)
  expect(body.data).toEqual({ id: expect.any(String), cardId, filename: 'data.bin', contentType: 'application/octet-stream', size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex'), createdAt: expect.any(String) })
  const answer = await download(body.data.id)
  expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'application/octet-stream', 'content-length': String(bytes.length), 'content-disposition': 'attachment; filename="data.bin"; filename*=UTF-8\'\'data.bin',
    'x-content-type-options': 'nosniff', 'content-security-policy': 'default-src \'none\'; sandbox', etag: `"${body.data.sha256}"`,
  })
  expect((await board.client.attachments.list({ projectId, cardId })).map(({ id }) => id)).toEqual([body.data.id])
})

test('the typed client uploads and downloads, and an empty file is a file', async () => {
  await freshCard()
  const file = join(board.folder('up'), 'naïve "q".txt')
  writeFileSync(file, 'from the client\n')
  const made = await board.client.attachments.create({ projectId, cardId, file: { path: file } })
  expect(made).toMatchObject({ filename: 'naïve "q".txt', contentType: 'text/plain', size: 16 })
  const got = await board.client.attachments.download({ attachmentId: made.id })
  expect([got.filename, await got.body.toArray().then(parts => Buffer.concat(parts).toString())]).toEqual(['naïve "q".txt', 'from the client\n'])
  const empty = (await upload('empty.txt', '')).body.data
  expect(empty).toMatchObject({ size: 0, contentType: 'text/plain' })
  const answer = await download(empty.id)
  expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([200, '0', ''])
})

test.each([
  ['../../etc/passwd', 'passwd'], ['..\\\\..\\\\windows\\\\win.ini', 'win.ini'], ['C:\\Users\\me\\a.txt', 'a.txt'], ['/abs/olute.txt', 'olute.txt'], ['..', 'attachment'], ['.', 'attachment'], ['', 'attachment'], ['dir/', 'attachment'],
  ['a\u0000b.txt', 'ab.txt'], ['a\u0007\u009b31mb.txt', 'a31mb.txt'], ['cod\u202egpj.exe', 'codgpj.exe'], ['  spaced.txt  ', 'spaced.txt'], ['日本語 – ü.pdf', '日本語 – ü.pdf'], ['.gitignore', '.gitignore'],
  [`${'x'.repeat(300)}.tar.gz`, `${'x'.repeat(252)}.gz`], [`${'日'.repeat(100)}.md`, `${'日'.repeat(84)}.md`], ['<script>alert(1)</script>.html', 'script>.html'], ['a;b,c%0d%0aX: y.txt', 'a;b,c%0d%0aX: y.txt'],
])('the name %j is kept as %j, and never names a file on the server', async (sent, kept) => {
  await freshCard()
  const { status, body } = await upload(sent, 'x')
  expect([status, body.data?.filename]).toEqual([201, kept])
  expect(filesOnDisk().every(name => /^[0-9a-f]{32}$/.test(name))).toBe(true)
  const disposition = (await download(body.data.id)).headers.get('content-disposition')!
  expect(disposition).toMatch(/^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\w.!~%-]+$/)
  expect(decodeURIComponent(disposition.split('\'\'')[1]!)).toBe(kept)
})

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'), Buffer.alloc(40)])
test.each([
  ['image.html', png, 'image/png'], ['page.html', '<html><script>alert(1)</script>', 'text/plain'], ['drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'text/plain'],
  ['drawing.svg', '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', 'text/plain'], ['drawing.png', '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', 'application/octet-stream'],
  ['evil.png', '<html><script>alert(1)</script>', 'application/octet-stream'], ['polyglot.html', Buffer.concat([png, Buffer.from('<script>alert(1)</script>')]), 'image/png'], ['gif.js', 'GIF89a/*<svg onload=alert(1)>*/=1;', 'image/gif'],
  ['notes.md', '# hi', 'text/markdown'], ['table.csv', 'a,b', 'text/csv'], ['data.json', '{}', 'application/json'], ['script.js', 'alert(1)', 'text/plain'], ['binary.txt', Buffer.from([0, 1, 2, 255]), 'application/octet-stream'],
  ['latin1.txt', Buffer.from([0x61, 0xe9, 0x61]), 'application/octet-stream'], ['cut.txt', `${'x'.repeat(4099)}é`, 'text/plain'], ['README', 'text', 'application/octet-stream'], ['paper.pdf', '%PDF-1.4\n%EOF', 'application/pdf'], ['x.__proto__', 'text', 'application/octet-stream'],
  ['program', Buffer.from('7f454c4602010100', 'hex'), 'application/octet-stream'], ['module.wasm', Buffer.from('0061736d01000000', 'hex'), 'application/octet-stream'],
])('%s is told as what it is, whatever the client says', async (filename, body, contentType) => {
  await freshCard()
  const made = (await upload(filename, body, 'text/html')).body.data
  expect(made.contentType).toBe(contentType)
  expect((await download(made.id)).headers.get('content-type')).toBe(contentType)
})

test('a body that is not one file in the field file is refused, says why, and leaves nothing', async () => {
  await freshCard()
  const before = filesOnDisk()
  const file = part('file', 'a.txt', 'x')
  expect(refusal(await send(end))).toEqual([400, 'VALIDATION_FAILED', 'file'])
  expect(refusal(await send(Buffer.concat([part('file', undefined, 'just text'), end])))).toEqual([400, 'VALIDATION_FAILED', 'file'])
  expect(refusal(await send(Buffer.concat([file, part('file', 'b.txt', 'y'), end])))).toEqual([400, 'VALIDATION_FAILED', 'file'])
  expect(refusal(await send(Buffer.concat([part('upload', 'a.txt', 'x'), end])))).toEqual([400, 'VALIDATION_FAILED', 'upload'])
  expect(refusal(await send(Buffer.concat([file, part('note', undefined, 'y'), end])))).toEqual([400, 'VALIDATION_FAILED', 'note'])
  expect(refusal(await send(file))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await send(file.subarray(0, 30)))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await send(Buffer.from('no parts at all')))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await send(Buffer.alloc(0)))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await send(Buffer.concat([file, end]), { 'content-type': 'multipart/form-data' }))[0]).toBe(415)
  expect(refusal(await send(Buffer.concat([file, end]), { 'content-type': 'multipart/form-data; charset=utf-8' }))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await send(Buffer.concat([file, end]), { 'content-type': `multipart/form-data; boundary=${'b'.repeat(300)}` }))).toEqual([400, 'VALIDATION_FAILED', undefined])
  expect(refusal(await send(Buffer.from('{}'), { 'content-type': 'application/json' }))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE', undefined])
  expect(refusal(await send(Buffer.concat([Buffer.from(`--xyz\r\n${'X-Long: y\r\n'.repeat(5000)}`), file.subarray('--xyz\r\n'.length), end])))).toEqual([400, 'VALIDATION_FAILED', 'file'])
  expect(filesOnDisk()).toEqual(before)
  expect(await board.client.attachments.list({ projectId, cardId })).toEqual([])
})

test('a file may be as large as allowed and not a byte larger, told beforehand or not', async () => {
  await freshCard()
  const before = filesOnDisk().length
  expect((await upload('full.bin', Buffer.alloc(maxAttachmentBytes))).status).toBe(201)
  expect(refusal(await upload('over.bin', Buffer.alloc(maxAttachmentBytes + 1)))).toEqual([413, 'BODY_TOO_LARGE', undefined])
  expect(refusal(await upload('far-over.bin', Buffer.alloc(maxAttachmentBytes * 4)))).toEqual([413, 'BODY_TOO_LARGE', undefined])
  expect(await chunked(Buffer.concat([part('file', 'x.bin', Buffer.alloc(maxAttachmentBytes * 4)), end]))).toBe(413)
  expect(filesOnDisk().length).toBe(before + 1)
})

test('an upload that breaks off leaves nothing', async () => {
  await freshCard()
  const before = filesOnDisk()
  const aborted = open({ 'content-length': '1000000' })
  aborted.write(part('file', 'a.bin', Buffer.alloc(300_000)))
  await eventually('a file in the making', () => filesOnDisk().some(name => name.endsWith('.part') && statSync(join(board.dataDir, 'attachments', name)).size >= 200_000))
  aborted.destroy()
  await eventually('nothing left', () => filesOnDisk().length === before.length)
  expect(await board.client.attachments.list({ projectId, cardId })).toEqual([])
})

test('an upload that stalls is given up', async () => {
  const problem = new Promise<unknown>(resolve => {
    const server = createServer((request, response) => {
      receiveFile(request, { maxBytes: 1000, idleMs: 50, save: bytes => saveFile(board.folder('stalled'), bytes, undefined), discard: async () => {} }).catch(resolve).finally(() => { response.end(); server.close() })
    }).listen(0, '127.0.0.1', () => {
      const request = requestHttp({ port: (server.address() as AddressInfo).port, method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=xyz', 'content-length': '500' } }).on('error', () => { /* the server gives up */ })
      request.write(part('file', 'a.txt', 'x'))
      request.on('response', () => request.destroy())
    })
  })
  expect(await problem).toMatchObject({ code: 'REQUEST_TIMEOUT' })
  expect(readdirSync(board.folder('stalled'))).toEqual([])
})

test('a large upload and a large download stay out of memory', async () => {
  const big = await startBoard({ maxAttachmentBytes: 400 * 1024 * 1024 })
  const project = await big.client.projects.create({ name: 'P', path: big.folder('p') })
  const card = await big.client.cards.create({ projectId: project.id, title: 'Card' })
  const file = join(big.folder('up'), 'big.bin')
  writeFileSync(file, '')
  truncateSync(file, 256 * 1024 * 1024)
  const atRest = usedBytes()
  let peak = 0
  const look = setInterval(() => { peak = Math.max(peak, usedBytes() - atRest) }, 5)
  const made = await big.client.attachments.create({ projectId: project.id, cardId: card.id, file: { path: file } })
  const { body } = await big.client.attachments.download({ attachmentId: made.id })
  let size = 0
  for await (const chunk of body) size += (chunk as Buffer).length
  clearInterval(look)
  expect([made.size, size]).toEqual([256 * 1024 * 1024, 256 * 1024 * 1024])
  expect(peak).toBeLessThan(64 * 1024 * 1024)
  await big.close()
}, 60_000)

test('parts of a file, and a file that the client has already', async () => {
  await freshCard()
  const { id, sha256 } = (await upload('digits.txt', '0123456789')).body.data
  const range = async (value: string, extra: Record<string, string> = {}) => {
    const answer = await download(id, { range: value, ...extra })
    return [answer.status, answer.headers.get('content-range'), await answer.text()]
  }
  expect(await range('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234'])
  expect(await range('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789'])
  expect(await range('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789'])
  expect(await range('bytes=5-999')).toEqual([206, 'bytes 5-9/10', '56789'])
  expect(await range('bytes=0-0', { 'if-range': `"${sha256}"` })).toEqual([206, 'bytes 0-0/10', '0'])
  for (const ignored of ['bytes=4-2', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=-', 'bytes=a-b']) expect(await range(ignored)).toEqual([200, null, '0123456789'])
  expect(await range('bytes=0-1', { 'if-range': '"old"' })).toEqual([200, null, '0123456789'])
  expect((await range('bytes=10-')).slice(0, 2)).toEqual([416, 'bytes */10'])
  expect(JSON.parse(String((await range('bytes=-0'))[2]))).toMatchObject({ error: { code: 'RANGE_NOT_SATISFIABLE' } })
  expect((await download(id, { 'if-none-match': `"${sha256}"` })).status).toBe(304)
  const head = await board.request('HEAD', `/api/attachments/${id}`)
  expect([head.status, head.headers.get('content-length'), head.text]).toEqual([200, '10', ''])
})

test('deleting removes the file after the row, and the routes then know nothing of it', async () => {
  await freshCard()
  const before = filesOnDisk()
  const { id } = (await upload('a.txt', 'x')).body.data
  expect(filesOnDisk().length).toBe(before.length + 1)
  expect((await board.request('DELETE', `/api/attachments/${id}`)).status).toBe(204)
  await eventually('the file to go', () => filesOnDisk().length === before.length)
  for (const method of ['GET', 'DELETE']) expect(refusal(await board.request(method, `/api/attachments/${id}`))).toEqual([404, 'ATTACHMENT_NOT_FOUND', undefined])
  expect(await eventTypes()).toEqual(['attachment.created', 'attachment.deleted'])
})

test('a file that is gone from disk, cut short or replaced by a link is answered 404', async () => {
  await freshCard()
  const stored = async () => {
    const before = new Set(filesOnDisk())
    const { id } = (await upload('a.txt', 'content')).body.data
    return { id, file: join(board.dataDir, 'attachments', filesOnDisk().find(name => !before.has(name))!) }
  }
  const [gone, cut, linked] = [await stored(), await stored(), await stored()]
  rmSync(gone.file)
  truncateSync(cut.file, 3)
  rmSync(linked.file)
  writeFileSync(join(board.dataDir, 'secret'), 'secrets')
  symlinkSync(join(board.dataDir, 'secret'), linked.file)
  for (const { id } of [gone, cut, linked]) expect(refusal(await board.request('GET', `/api/attachments/${id}`))).toEqual([404, 'ATTACHMENT_NOT_FOUND', undefined])
  for (const { id } of [gone, cut, linked]) expect((await board.request('DELETE', `/api/attachments/${id}`)).status).toBe(204)
  await eventually('the link to go', () => !filesOnDisk().includes(basename(linked.file)))
})

test('attachments of a deleted card are hidden with it and come back with it', async () => {
  await freshCard()
  const { id } = (await upload('a.txt', 'x')).body.data
  await board.client.cards.delete({ projectId, cardId })
  expect((await download(id)).status).toBe(404)
  expect((await board.request('GET', path)).status).toBe(404)
  expect(refusal(await upload('b.txt', 'x'))).toEqual([404, 'CARD_NOT_FOUND', undefined])
  await board.client.cards.restore({ projectId, cardId })
  expect((await download(id)).status).toBe(200)
})

test('a card has at most 1,000 attachments, also when the last ones come at once', async () => {
  await freshCard()
  await board.server.app.db.transaction(async tx => {
    for (let index = 0; index < 998; index++) await tx.run('INSERT INTO attachments (card_id, filename, content_type, size, sha256, stored_as, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)', [Number(cardId), 'f', 'text/plain', 0, '', `none-${cardId}-${index}`, tx.now])
  })
  const before = filesOnDisk().length
  const statuses = (await Promise.all(Array.from({ length: 6 }, () => upload('a.txt', 'x')))).map(({ status }) => status).sort()
  expect(statuses).toEqual([201, 201, 409, 409, 409, 409])
  await eventually('the refused files to go', () => filesOnDisk().length === before + 2)
})

test('the same Idempotency-Key and file is attached once', async () => {
  await freshCard()
  const before = filesOnDisk().length
  const again = (body: string, key = 'k1') => send(Buffer.concat([part('file', 'a.txt', body), end]), { 'idempotency-key': `${cardId}-${key}` })
  const first = await again('same')
  const second = await again('same')
  expect([first.status, second.status, second.body]).toEqual([201, 201, first.body])
  expect(refusal(await again('other'))).toEqual([409, 'IDEMPOTENCY_KEY_REUSED', undefined])
  const atOnce = await Promise.all(Array.from({ length: 5 }, () => again('together', 'k2')))
  expect(new Set(atOnce.map(({ text }) => text)).size).toBe(1)
  await eventually('two files', () => filesOnDisk().length === before + 2)
})

test('the sweep deletes what no row stands for and nobody has touched for an hour', async () => {
  await freshCard()
  const { id } = (await upload('kept.txt', 'x')).body.data
  const folder = join(board.dataDir, 'attachments')
  const old = new Date(Date.now() - 2 * 3_600_000)
  for (const name of filesOnDisk()) utimesSync(join(folder, name), old, old)
  const [stray, half, young] = ['0'.repeat(32), `${'1'.repeat(32)}.part`, '2'.repeat(32)]
  for (const name of [stray, half, young]) writeFileSync(join(folder, name), 'x')
  for (const name of [stray, half]) utimesSync(join(folder, name), old, old)
  await sweepAttachments(board.server.app)
  expect([stray, half, young].map(name => existsSync(join(folder, name)))).toEqual([false, false, true])
  expect((await download(id)).status).toBe(200)
  rmSync(join(folder, young))
})

test('files and their folder are for the server\'s account only', async () => {
  await freshCard()
  await upload('a.txt', 'x')
  expect(statSync(join(board.dataDir, 'attachments')).mode & 0o777).toBe(0o700)
  expect(new Set(filesOnDisk().map(name => statSync(join(board.dataDir, 'attachments', name)).mode & 0o777))).toEqual(new Set([0o600]))
})

test('a folder that is gone is a failure that names nothing of the server', async () => {
  await freshCard()
  const folder = join(board.dataDir, 'attachments')
  renameSync(folder, `${folder}.away`)
  const { status, text } = await upload('a.txt', 'x')
  renameSync(`${folder}.away`, folder)
  expect(status).toBe(500)
  expect(text).not.toContain(board.dataDir)
})

function open(headers: Record<string, string> = {}): ClientRequest {
  const { hostname, port } = new URL(board.url)
  const request = requestHttp({ hostname, port, path, method: 'POST', headers: { authorization: `Bearer ${board.token}`, 'content-type': 'multipart/form-data; boundary=xyz', ...headers } })
  return request.on('error', () => { /* it is broken off on purpose */ })
}

const chunked = (body: Buffer) => new Promise<number>((resolve, reject) => {
  const request = open({ 'transfer-encoding': 'chunked' })
  request.on('response', response => resolve(response.resume().statusCode!)).on('error', reject)
  request.end(body)
})

const usedBytes = () => process.memoryUsage().heapUsed + process.memoryUsage().external
const eventTypes = async () => (await board.server.app.db.all<{ type: string }>('SELECT type FROM events WHERE type LIKE ? AND json_extract(data, ?) = ? ORDER BY seq', ['attachment.%', '$.cardId', cardId])).map(({ type }) => type)
