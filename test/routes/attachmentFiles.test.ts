import { existsSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { saveFile } from '../../src/files/attachmentFiles.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { end, part, refusal, startUploads, type Uploads } from '../support/servers/uploads.ts'

let uploads: Uploads
beforeAll(async () => {
  uploads = await startUploads()
})
afterAll(() => uploads.board.close())

test('ranges of a file, and a file that the client has cached', async () => {
  await uploads.freshCard()
  const { id, sha256 } = (await uploads.upload('digits.txt', '0123456789')).body.data
  const range = async (value: string, extra: Record<string, string> = {}) => {
    const answer = await uploads.download(id, { range: value, ...extra })
    return [answer.status, answer.headers.get('content-range'), await answer.text()]
  }
  expect(await range('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234'])
  expect(await range('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789'])
  expect(await range('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789'])
  expect(await range('bytes=5-999')).toEqual([206, 'bytes 5-9/10', '56789'])
  expect(await range('bytes=0-0', { 'if-range': `"${sha256}"` })).toEqual([206, 'bytes 0-0/10', '0'])
  for (const ignored of ['bytes=4-2', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=-', 'bytes=a-b'])
    expect(await range(ignored)).toEqual([200, null, '0123456789'])
  expect(await range('bytes=0-1', { 'if-range': '"old"' })).toEqual([200, null, '0123456789'])
  expect((await range('bytes=10-')).slice(0, 2)).toEqual([416, 'bytes */10'])
  expect(JSON.parse(String((await range('bytes=-0'))[2]))).toMatchObject({ error: { code: 'RANGE_NOT_SATISFIABLE' } })
  expect((await uploads.download(id, { 'if-none-match': `"${sha256}"` })).status).toBe(304)
  const head = await uploads.board.request('HEAD', `/api/attachments/${id}`)
  expect([head.status, head.headers.get('content-length'), head.text]).toEqual([200, '10', ''])
})

test('deleting removes the file after the row, and the routes then return 404', async () => {
  await uploads.freshCard()
  const before = uploads.filesOnDisk()
  const { id } = (await uploads.upload('a.txt', 'x')).body.data
  expect(uploads.filesOnDisk().length).toBe(before.length + 1)
  expect((await uploads.board.request('DELETE', `/api/attachments/${id}`)).status).toBe(204)
  await eventually('the file to go', () => uploads.filesOnDisk().length === before.length)
  for (const method of ['GET', 'DELETE'])
    expect(refusal(await uploads.board.request(method, `/api/attachments/${id}`))).toEqual([
      404,
      'ATTACHMENT_NOT_FOUND',
      undefined,
    ])
  expect(await eventTypes()).toEqual(['attachment.created', 'attachment.deleted'])
})

test('a file with several holds exists until the last one is released', async () => {
  await uploads.freshCard()
  const { attachmentFiles, db } = uploads.board.server.app
  const { folder } = attachmentFiles
  const { storedAs } = await saveFile(
    folder,
    (async function* () {
      yield Buffer.from('content')
    })(),
    'a.txt',
  )
  const isThere = async () => {
    await attachmentFiles.remove(storedAs)
    utimesSync(join(folder, storedAs), 0, 0)
    await attachmentFiles.sweep(db)
    return existsSync(join(folder, storedAs))
  }
  const letGo = [attachmentFiles.hold(), attachmentFiles.hold(), attachmentFiles.hold()]
  for (const each of letGo) {
    expect(await isThere()).toBe(true)
    each()
  }
  await attachmentFiles.remove(storedAs)
  expect(existsSync(join(folder, storedAs))).toBe(false)
})

test('an upload that ends early leaves no file, and only a full disk is reported as one', async () => {
  const folder = join(uploads.board.dataDir, 'attachments')
  const before = uploads.filesOnDisk()
  const ending = (error: Error) =>
    saveFile(
      folder,
      (async function* () {
        yield Buffer.from('begun')
        throw error
      })(),
      'a.txt',
    )
  const gone = new Error('The client has gone.')
  await expect(ending(gone)).rejects.toBe(gone)
  await expect(ending(Object.assign(new Error('words'), { code: 'ENOSPC' }))).rejects.toMatchObject({
    code: 'DISK_FULL',
    retryAfterSecs: 30,
    cause: { code: 'ENOSPC' },
  })
  expect(uploads.filesOnDisk()).toEqual(before)
})

test('a file that is missing on disk, truncated or replaced by a link returns 404', async () => {
  await uploads.freshCard()
  const stored = async () => {
    const before = new Set(uploads.filesOnDisk())
    const { id } = (await uploads.upload('a.txt', 'content')).body.data
    return {
      id,
      file: join(
        uploads.board.dataDir,
        'attachments',
        uploads.filesOnDisk().find(name => !before.has(name))!,
      ),
    }
  }
  const [gone, cut, linked] = [await stored(), await stored(), await stored()]
  rmSync(gone.file)
  truncateSync(cut.file, 3)
  rmSync(linked.file)
  writeFileSync(join(uploads.board.dataDir, 'secret'), 'secrets')
  symlinkSync(join(uploads.board.dataDir, 'secret'), linked.file)
  for (const { id } of [gone, cut, linked])
    expect(refusal(await uploads.board.request('GET', `/api/attachments/${id}`))).toEqual([
      404,
      'ATTACHMENT_NOT_FOUND',
      undefined,
    ])
  for (const { id } of [gone, cut, linked])
    expect((await uploads.board.request('DELETE', `/api/attachments/${id}`)).status).toBe(204)
  await eventually('the link to go', () => !uploads.filesOnDisk().includes(basename(linked.file)))
})

test('attachments of a deleted card are hidden with it and restored with it', async () => {
  await uploads.freshCard()
  const { id } = (await uploads.upload('a.txt', 'x')).body.data
  await uploads.board.client.cards.delete(uploads.card())
  expect((await uploads.download(id)).status).toBe(404)
  expect((await uploads.board.request('GET', uploads.path)).status).toBe(404)
  expect(refusal(await uploads.upload('b.txt', 'x'))).toEqual([404, 'CARD_NOT_FOUND', undefined])
  await uploads.board.client.cards.restore(uploads.card())
  expect((await uploads.download(id)).status).toBe(200)
})

test('a card has at most 1,000 attachments, also with concurrent uploads', async () => {
  await uploads.freshCard()
  await uploads.board.server.app.db.transaction(async tx => {
    for (let index = 0; index < 998; index++)
      await tx.run(
        'INSERT INTO attachments (card_id, filename, content_type, size, sha256, stored_as, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        [Number(uploads.cardId), 'f', 'text/plain', 0, '', `none-${uploads.cardId}-${index}`, tx.now],
      )
  })
  const before = uploads.filesOnDisk().length
  const statuses = (await Promise.all(Array.from({ length: 6 }, () => uploads.upload('a.txt', 'x'))))
    .map(({ status }) => status)
    .sort()
  expect(statuses).toEqual([201, 201, 409, 409, 409, 409])
  await eventually('the refused files to go', () => uploads.filesOnDisk().length === before + 2)
})

test('a repeated Idempotency-Key and file is attached once', async () => {
  await uploads.freshCard()
  const before = uploads.filesOnDisk().length
  const again = (body: string, key = 'k1') =>
    uploads.send(Buffer.concat([part('file', 'a.txt', body), end]), { 'idempotency-key': `${uploads.cardId}-${key}` })
  const first = await again('same')
  const second = await again('same')
  expect([first.status, second.status, second.body]).toEqual([201, 201, first.body])
  expect(refusal(await again('other'))).toEqual([409, 'IDEMPOTENCY_KEY_REUSED', undefined])
  const atOnce = await Promise.all(Array.from({ length: 5 }, () => again('together', 'k2')))
  expect(new Set(atOnce.map(({ text }) => text)).size).toBe(1)
  await eventually('two files', () => uploads.filesOnDisk().length === before + 2)
})

test('the sweep deletes files without a row that were unchanged for an hour', async () => {
  await uploads.freshCard()
  const { id } = (await uploads.upload('kept.txt', 'x')).body.data
  const folder = join(uploads.board.dataDir, 'attachments')
  const old = new Date(Date.now() - 2 * 3_600_000)
  for (const name of uploads.filesOnDisk()) utimesSync(join(folder, name), old, old)
  const [stray, half, young] = ['0'.repeat(32), `${'1'.repeat(32)}.part`, '2'.repeat(32)]
  for (const name of [stray, half, young]) writeFileSync(join(folder, name), 'x')
  for (const name of [stray, half]) utimesSync(join(folder, name), old, old)
  await uploads.board.server.app.attachmentFiles.sweep(uploads.board.server.app.db)
  expect([stray, half, young].map(name => existsSync(join(folder, name)))).toEqual([false, false, true])
  expect((await uploads.download(id)).status).toBe(200)
  rmSync(join(folder, young))
})

test("files and their folder are readable by the server's account only", async () => {
  await uploads.freshCard()
  await uploads.upload('a.txt', 'x')
  expect(statSync(join(uploads.board.dataDir, 'attachments')).mode & 0o777).toBe(0o700)
  expect(
    new Set(uploads.filesOnDisk().map(name => statSync(join(uploads.board.dataDir, 'attachments', name)).mode & 0o777)),
  ).toEqual(new Set([0o600]))
})

test('a missing folder is a failure that reveals no path of the server', async () => {
  await uploads.freshCard()
  const folder = join(uploads.board.dataDir, 'attachments')
  renameSync(folder, `${folder}.away`)
  const { status, text } = await uploads.upload('a.txt', 'x')
  renameSync(`${folder}.away`, folder)
  expect(status).toBe(500)
  expect(text).not.toContain(uploads.board.dataDir)
})

const eventTypes = async () =>
  (
    await uploads.board.server.app.db.all<{ type: string }>(
      'SELECT type FROM events WHERE type LIKE ? AND json_extract(data, ?) = ? ORDER BY seq',
      ['attachment.%', '$.cardId', uploads.cardId],
    )
  ).map(({ type }) => type)
