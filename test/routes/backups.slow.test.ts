import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fileBody } from '../support/contract/seed.ts'
import { onLibsqlServer, startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { manifestOf, membersOf } from '../backups/archives.ts'

const key = Buffer.alloc(32, 7).toString('base64')
let board: TestBoard
let folder: string
let projectId: string
let cardId: string
let now = Date.now()

beforeAll(async () => {
  board = await startBoard({ secretKey: key, clock: () => new Date(now) })
  folder = join(board.dataDir, 'backups')
  projectId = (await board.client.projects.create({ name: 'Kept', path: board.folder('kept') })).id
  cardId = (await board.client.cards.create({ projectId, title: 'A card' })).id
  await attach('one')
})
afterAll(async () => {
  await board.close()
  rmSync(join(board.dataDir, '..'), { recursive: true, force: true })
})

const attach = (text: string) =>
  board.request('POST', `/api/projects/${projectId}/cards/${cardId}/attachments`, fileBody('notes.txt', text))
const download = async (filename: string) =>
  Buffer.from(
    await (
      await fetch(`${board.url}/api/backups/${filename}`, { headers: { authorization: `Bearer ${board.token}` } })
    ).arrayBuffer(),
  )
const upload = (bytes: Buffer, filename = 'sent.tar.gz') =>
  board.request('POST', '/api/backups/upload', {
    raw: Buffer.concat([
      Buffer.from(
        `--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: application/gzip\r\n\r\n`,
      ),
      bytes,
      Buffer.from('\r\n--b--\r\n'),
    ]),
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  })
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('a backup', () => {
  it('is one verified file that only this account can read', async () => {
    const made = await board.client.backups.create()
    expect(made).toEqual({
      filename: expect.stringMatching(/^board-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\.tar\.gz$/),
      size: expect.any(Number),
      createdAt: new Date(now).toISOString(),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      verified: true,
      withKey: false,
      version: expect.stringMatching(/^\d/),
      origin: 'request',
    })
    const bytes = readFileSync(join(folder, made.filename))
    expect([bytes.length, sha256(bytes)]).toEqual([made.size, made.sha256])
    expect([
      statSync(folder).mode & 0o777,
      ...readdirSync(folder).map(name => statSync(join(folder, name)).mode & 0o777),
    ]).toEqual([0o700, 0o600, 0o600])
    expect((await board.client.backups.list()).map(({ filename }) => filename)).toContain(made.filename)
  })

  it('holds a manifest, the database and the attachments, each with its size and hash', async () => {
    const { filename } = await board.client.backups.create()
    const members = await membersOf(await download(filename))
    const manifest = manifestOf(members)
    expect(manifest).toMatchObject({
      format: 1,
      createdAt: expect.any(String),
      schemaVersion: expect.any(Number),
      version: expect.any(String),
      missing: [],
    })
    expect(members.map(({ name }) => name)).toEqual([
      'manifest.json',
      'board.db',
      expect.stringMatching(/^attachments\/[0-9a-f]{32}$/),
    ])
    expect(manifest.parts).toEqual(
      members.slice(1).map(({ name, bytes }) => ({ name, size: bytes.length, sha256: sha256(bytes) })),
    )
    expect(members[2]!.bytes.toString()).toBe('one')
  })

  it('holds the sealing key only on request', async () => {
    const { filename, withKey } = await board.client.backups.create({ withKey: true })
    const members = await membersOf(await download(filename))
    expect([withKey, members.find(({ name }) => name === 'secret.key')?.bytes.toString()]).toEqual([true, `${key}\n`])
  })

  it('gets a unique name even if several are created at the same moment', async () => {
    const names = (await Promise.all([1, 2, 3].map(() => board.client.backups.create()))).map(
      ({ filename }) => filename,
    )
    expect(new Set(names).size).toBe(3)
  })

  it('holds the state of one moment while other clients write and delete', async () => {
    let [isMade, written] = [false, 0]
    const writing = (async () => {
      while (!isMade) {
        const { body } = await attach(`text ${written}`)
        if (written++ % 2) await board.client.attachments.delete({ attachmentId: body.data.id })
      }
    })()
    for (let round = 0; round < 5; round++) {
      const { filename, verified } = await board.client.backups.create()
      const manifest = manifestOf(await membersOf(await download(filename)))
      expect([verified, manifest.missing]).toEqual([true, []])
    }
    isMade = true
    await writing
    expect(written).toBeGreaterThan(3)
  })

  it("is created although an attachment's file is missing or damaged, and reports the file", async () => {
    const [gone, other] = [(await attach('will be gone')).body.data.id, (await attach('will be other')).body.data.id]
    const names = await board.server.app.db.all<{ id: number; name: string }>(
      'SELECT id, stored_as AS name FROM attachments',
    )
    const nameOf = (id: string) => names.find(each => String(each.id) === id)!.name
    rmSync(join(board.dataDir, 'attachments', nameOf(gone)))
    writeFileSync(join(board.dataDir, 'attachments', nameOf(other)), 'was be other!')
    const { filename, verified } = await board.client.backups.create()
    const members = await membersOf(await download(filename))
    expect([verified, manifestOf(members).missing]).toEqual([true, [`attachments/${nameOf(gone)}`]])
    expect(members.find(({ name }) => name.endsWith(nameOf(other)))!.bytes.toString()).toBe('was be other!')
    await Promise.all([gone, other].map(attachmentId => board.client.attachments.delete({ attachmentId })))
  })
})

describe('the list', () => {
  it('is newest first', async () => {
    now += 60_000
    const { filename } = await board.client.backups.create()
    const times = (await board.client.backups.list()).map(({ createdAt }) => createdAt)
    expect(times).toEqual([...times].sort().reverse())
    expect((await board.client.backups.list())[0]!.filename).toBe(filename)
  })

  it('shows backups that were copied to the folder, verifies each once, and omits files that are not backups', async () => {
    const [first] = await board.client.backups.list()
    const [copied, broken] = ['board-2020-01-01T00-00-00.000Z.tar.gz', 'board-2020-01-02T00-00-00.000Z.tar.gz']
    copyFileSync(join(folder, first!.filename), join(folder, copied))
    writeFileSync(join(folder, broken), 'no archive')
    for (const name of [
      'notes.txt',
      'board-2020.tar.gz',
      'board-2020-13-41T00-00-00.000Z.tar.gz',
      'x-board-2020-01-01T00-00-00.000Z.tar.gz',
      'board-2020-01-01T00-00-00.000Z.tar.gz.old',
    ])
      writeFileSync(join(folder, name), 'x')
    symlinkSync(join(folder, first!.filename), join(folder, 'board-2020-01-03T00-00-00.000Z.tar.gz'))
    mkdirSync(join(folder, 'board-2020-01-04T00-00-00.000Z.tar.gz'))
    const shown = (await board.client.backups.list()).filter(({ createdAt }) => createdAt < '2021')
    expect(shown).toEqual([
      {
        ...first,
        filename: broken,
        createdAt: '2020-01-02T00:00:00.000Z',
        verified: false,
        version: '',
        withKey: false,
        origin: 'upload',
        size: 10,
        sha256: sha256(Buffer.from('no archive')),
      },
      { ...first, filename: copied, createdAt: '2020-01-01T00:00:00.000Z' },
    ])
    writeFileSync(join(folder, copied), 'changed')
    expect((await board.client.backups.list()).at(-1)).toMatchObject({ filename: copied, verified: false, size: 7 })
    await Promise.all([copied, broken].map(filename => board.client.backups.delete({ filename })))
  })
})

describe("a backup's name", () => {
  it.each([
    '../board.db',
    '..%2fboard.db',
    'secret.key',
    'board-2020-01-01T00-00-00.000Z.tar.gz/../../board.db',
    'board-2020-01-01T00-00-00.000Z.json',
    'board-2020-01-03T00-00-00.000Z.tar.gz',
    'board-2020-01-04T00-00-00.000Z.tar.gz',
  ])('cannot lead elsewhere: %s', async name => {
    for (const [method, path] of [
      ['GET', name],
      ['DELETE', name],
      ['POST', `${name}/restore`],
    ] as const) {
      const { status, body } = await board.request(method, `/api/backups/${path}`)
      expect([method, status, body.error.code]).toEqual([
        method,
        ...(body.error.code === 'METHOD_NOT_ALLOWED' ? [405] : [404]),
        expect.stringMatching(/^(BACKUP_NOT_FOUND|NOT_FOUND|METHOD_NOT_ALLOWED)$/),
      ])
    }
    expect(existsSync(join(board.dataDir, onLibsqlServer ? 'config.json' : 'board.db'))).toBe(true)
  })
})

describe('a download', () => {
  it('returns the file, with headers that prevent opening it, completely or from an offset', async () => {
    const [first] = await board.client.backups.list()
    const reply = await fetch(`${board.url}/api/backups/${first!.filename}`, {
      headers: { authorization: `Bearer ${board.token}` },
    })
    expect(
      Object.fromEntries(
        ['content-type', 'content-length', 'content-disposition', 'x-content-type-options'].map(name => [
          name,
          reply.headers.get(name),
        ]),
      ),
    ).toEqual({
      'content-type': 'application/gzip',
      'content-length': String(first!.size),
      'content-disposition': `attachment; filename="${first!.filename}"; filename*=UTF-8''${first!.filename}`,
      'x-content-type-options': 'nosniff',
    })
    expect(sha256(Buffer.from(await reply.arrayBuffer()))).toBe(first!.sha256)
    const rest = await fetch(`${board.url}/api/backups/${first!.filename}`, {
      headers: { authorization: `Bearer ${board.token}`, range: 'bytes=100-' },
    })
    expect([rest.status, (await rest.arrayBuffer()).byteLength]).toEqual([206, first!.size - 100])
  })
})

describe('an upload', () => {
  it('becomes a backup under its own name, or that of its time', async () => {
    const made = await board.client.backups.create()
    const bytes = await download(made.filename)
    expect((await upload(bytes)).body.error.code).toBe('BACKUP_EXISTS')
    await board.client.backups.delete({ filename: made.filename })
    const { status, body } = await upload(bytes)
    expect([status, body.data]).toEqual([201, { ...made, origin: 'upload' }])
    const named = await upload(bytes, 'board-2019-05-06T07-08-09.010Z.tar.gz')
    expect(named.body.data).toEqual({
      ...made,
      origin: 'upload',
      filename: 'board-2019-05-06T07-08-09.010Z.tar.gz',
      createdAt: '2019-05-06T07:08:09.010Z',
    })
    expect((await upload(bytes, '../../board-2019-05-06T07-08-09.010Z.tar.gz')).body.error.code).toBe('BACKUP_EXISTS')
    expect(sha256(await download(named.body.data.filename))).toBe(made.sha256)
  })

  it('leaves no files if it is not a complete backup', async () => {
    const [first] = await board.client.backups.list()
    const before = readdirSync(folder)
    const bytes = await download(first!.filename)
    for (const wrong of [Buffer.from('hello'), bytes.subarray(0, bytes.length - 100), Buffer.alloc(0)]) {
      const { status, body } = await upload(wrong, 'board-2018-01-01T00-00-00.000Z.tar.gz')
      expect([status, body.error.code]).toEqual([400, 'INVALID_BACKUP'])
    }
    expect(readdirSync(folder)).toEqual(before)
  })
})

it('a partial file of a stopped server is removed at the next start, and no other', async () => {
  const made = await board.client.backups.create()
  await board.server.stop()
  const kept = readdirSync(folder).sort()
  mkdirSync(join(folder, '.work-0123456789abcdef'))
  for (const name of [
    '.work-0123456789abcdef/archive',
    '.work-fedcba9876543210',
    'board-2017-01-01T00-00-00.000Z.json',
    `${made.filename.replace('.tar.gz', '.json')}.new`,
  ])
    writeFileSync(join(folder, name), 'half')
  utimesSync(join(folder, made.filename), 1, 1)
  board = { ...board, ...(await startBoard({ dataDir: board.dataDir, secretKey: key })) }
  expect(readdirSync(folder).sort()).toEqual(kept)
  expect((await board.client.backups.list()).find(({ filename }) => filename === made.filename)).toEqual(made)
})

describe('attachments', () => {
  it('are compressed where that saves space, stored otherwise, and extracted completely by any tar', async () => {
    const before = (await board.client.backups.create()).size
    const files = [randomBytes(1_000_000), Buffer.alloc(1_000_000, 'text '), randomBytes(1000)]
    for (const bytes of files) {
      const [head, tail] = fileBody('file.bin', '|').raw.split('|') as [string, string]
      const raw = Buffer.concat([Buffer.from(head), bytes, Buffer.from(tail)])
      const { status } = await board.request('POST', `/api/projects/${projectId}/cards/${cardId}/attachments`, {
        ...fileBody(),
        raw,
      })
      expect(status).toBe(201)
    }
    const { filename, size } = await board.client.backups.create()
    expect(size - before).toBeGreaterThan(1_001_000)
    // A file in a batch with files of the other kind is treated like them.
    expect(size - before).toBeLessThan(1_300_000)
    const unpacked = board.folder('unpacked')
    execFileSync('tar', ['-xzf', join(folder, filename), '-C', unpacked])
    const hashes = readdirSync(join(unpacked, 'attachments')).map(name =>
      sha256(readFileSync(join(unpacked, 'attachments', name))),
    )
    expect(hashes).toEqual(expect.arrayContaining(files.map(sha256)))
  })
})
