import LibsqlDatabase from 'libsql'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { schemaVersion } from '../../src/store/engine/migrate.ts'
import { fileBody } from '../support/contract/seed.ts'
import { archiveOf, manifestOf, membersOf, withManifest, withPart, type Member, type PartText } from './archives.ts'

const filename = 'board-2020-01-01T00-00-00.000Z.tar.gz'
let board: TestBoard
let good: Member[]
let attachment: string

beforeAll(async () => {
  board = await startBoard({ secretKey: Buffer.alloc(32, 7).toString('base64') })
  const { id: projectId } = await board.client.projects.create({ name: 'Kept', path: board.folder('kept') })
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'A card' })
  await board.request(
    'POST',
    `/api/projects/${projectId}/cards/${cardId}/attachments`,
    fileBody('notes.txt', 'some text'),
  )
  const made = await board.client.backups.create({ withKey: true })
  good = await membersOf(readFileSync(join(board.dataDir, 'backups', made.filename)))
  attachment = good.at(-1)!.name
})
afterAll(() => board.close())

/** The members with a modified database. */
async function withDatabase(
  members: readonly Member[],
  change: (database: LibsqlDatabase.Database) => void,
): Promise<Member[]> {
  const path = join(board.folder('change'), 'board.db')
  writeFileSync(path, members[1]!.bytes)
  const database = new LibsqlDatabase(path)
  change(database)
  database.close()
  const bytes = readFileSync(path)
  rmSync(path)
  return withPart(members, 'board.db', bytes)
}

const outside = join(tmpdir(), `board-evil-${process.pid}`)
const evil = Buffer.from('evil')
const add = (member: Member) => [...good, member]
/** A part of the manifest under another name. */
const renamed = (from: string, to: string) => {
  const manifest = manifestOf(good)
  return withManifest(
    good.map(each => (each.name === from ? { ...each, name: to } : each)),
    { ...manifest, parts: manifest.parts.map(each => (each.name === from ? { ...each, name: to } : each)) },
  )
}
const manifestWith = (change: object) => withManifest(good, { ...manifestOf(good), ...change })
const manifestPart = (change: (part: PartText) => object) =>
  manifestWith({
    parts: manifestOf(good).parts.map(part => (part.name === attachment ? { ...part, ...change(part) } : part)),
  })
const linked = (type: string) =>
  good.map(each =>
    each.name === attachment ? { ...each, bytes: Buffer.alloc(0), header: { type, linkname: '/etc/passwd' } } : each,
  )
const damagedPage = (bytes: Buffer) => {
  const copy = Buffer.from(bytes)
  // The next page is damaged also: a page without rows has no content that could be wrong.
  copy.fill(0xff, 4096 * 3 + 8, 4096 * 5)
  return copy
}

const members: Record<string, () => Member[] | Promise<Member[]>> = {
  'a member above the folder': () => add({ name: '../evil', bytes: evil }),
  'a part above the folder': () => renamed(attachment, '../evil'),
  'a part above the folder of attachments': () => renamed(attachment, 'attachments/../../evil'),
  'an absolute path': () => renamed(attachment, outside),
  'a path with a backslash': () => renamed(attachment, 'attachments\\..\\evil'),
  'a symbolic link': () => linked('symlink'),
  'a hard link': () => linked('link'),
  'a device': () => linked('character-device'),
  'a pipe': () => linked('fifo'),
  'a folder': () => add({ name: 'attachments/', bytes: Buffer.alloc(0), header: { type: 'directory' } }),
  'a name in an extended header': () =>
    good.map(each => (each.name === attachment ? { ...each, header: { pax: { path: '../evil' } } } : each)),
  'a size in an extended header': () =>
    good.map(each => (each.name === attachment ? { ...each, header: { pax: { size: '4' } } } : each)),
  'a part twice': () => add(good.at(-1)!),
  'a part twice in the manifest': () =>
    manifestWith({ parts: [...manifestOf(good).parts, manifestOf(good).parts.at(-1)] }),
  'an unknown member': () => add({ name: 'config.json', bytes: evil }),
  'an unknown part': () => withPart(good, 'config.json', evil),
  'an attachment without a card': () => withPart(good, `attachments/${'a'.repeat(32)}`, evil),
  'a missing part': () => good.slice(0, -1),
  'a missing database': () => good.filter(({ name }) => name !== 'board.db'),
  'parts in another order': () => [good[0]!, ...good.slice(1).reverse()],
  'an attachment that is neither included nor listed as missing': () =>
    withManifest(good.slice(0, -1), { ...manifestOf(good), parts: manifestOf(good).parts.slice(0, -1) }),
  'changed bytes of the same size': () =>
    good.map(each => (each.name === attachment ? { ...each, bytes: Buffer.from('other tex') } : each)),
  'a part of another size': () => good.map(each => (each.name === attachment ? { ...each, bytes: evil } : each)),
  'a wrong hash': () => manifestPart(() => ({ sha256: '0'.repeat(64) })),
  'an invalid hash': () => manifestPart(() => ({ sha256: 'x' })),
  'a negative size': () => manifestPart(() => ({ size: -1 })),
  'a size beyond all disks': () => manifestPart(() => ({ size: 2 ** 52 })),
  'no manifest': () => good.slice(1),
  'a manifest at the end': () => [...good.slice(1), good[0]!],
  'a manifest that is not JSON': () => [{ name: 'manifest.json', bytes: evil }, ...good.slice(1)],
  'a manifest that is a list': () => withManifest(good, []),
  'a manifest with unknown fields': () => manifestWith({ more: 1 }),
  'a manifest of a newer format': () => manifestWith({ format: 2 }),
  'a manifest of another schema version': () => manifestWith({ schemaVersion: 1 }),
  'an empty database': () => withPart(good, 'board.db', Buffer.alloc(0)),
  'an invalid database': () => withPart(good, 'board.db', Buffer.from('no database'.repeat(1000))),
  'a truncated database': () => withPart(good, 'board.db', good[1]!.bytes.subarray(0, good[1]!.bytes.length / 2)),
  'a database with a damaged page': () => withPart(good, 'board.db', damagedPage(good[1]!.bytes)),
  'a database of another program': () =>
    withDatabase(withPart(good, 'board.db', Buffer.alloc(0)), database => {
      database.exec(`CREATE TABLE t (x); PRAGMA user_version = ${schemaVersion}`)
    }),
  'a database of a newer board': () =>
    withDatabase(good, database => {
      database.exec('PRAGMA user_version = 999')
    }),
  'a database of an unreleased version': () =>
    withDatabase(good, database => {
      database.exec('PRAGMA user_version = 50')
    }),
  'a database without a version': () =>
    withDatabase(good, database => {
      database.exec('PRAGMA user_version = 0')
    }),
  'a database with a foreign trigger': () =>
    withDatabase(good, database => {
      database.exec('CREATE TRIGGER evil AFTER INSERT ON cards BEGIN DELETE FROM projects; END')
    }),
  'a database with a trigger that was changed': () =>
    withDatabase(good, database => {
      database.exec(
        'DROP TRIGGER cards_counted_in; CREATE TRIGGER cards_counted_in AFTER INSERT ON cards BEGIN DELETE FROM projects; END',
      )
    }),
  'a database with a view for a table': () =>
    withDatabase(good, database => {
      database.exec('PRAGMA foreign_keys = OFF; DROP TABLE attachments; CREATE VIEW attachments AS SELECT 1 AS id')
    }),
  'a database without an index': () =>
    withDatabase(good, database => {
      database.exec('DROP INDEX cards_listed')
    }),
  'a database with dangling references': () =>
    withDatabase(good, database => {
      database.exec('PRAGMA foreign_keys = OFF; DELETE FROM projects')
    }),
  'an invalid sealing key': () => withPart(good, 'secret.key', Buffer.from('not a key')),
}
const files: Record<string, () => Promise<Buffer>> = {
  nothing: async () => Buffer.alloc(0),
  text: async () => Buffer.from('hello'),
  'a tar file that is not compressed': async () => gunzipSync(await archiveOf(good)),
  'a truncated archive': async () => (await archiveOf(good)).subarray(0, -1000),
  'an archive with a truncated last block': async () => gzipSync(gunzipSync(await archiveOf(good)).subarray(0, -1300)),
  'an archive with a flipped byte': async () => {
    const bytes = await archiveOf(good)
    bytes[Math.floor(bytes.length / 2)]! ^= 1
    return bytes
  },
  'compressed nothing': async () => gzipSync(Buffer.alloc(0)),
  'an archive that unpacks endlessly': async () =>
    gzipSync(Buffer.concat([gunzipSync(await archiveOf(good)), Buffer.alloc(300 * 1024 * 1024)])),
}
const cases = {
  ...Object.fromEntries(Object.entries(members).map(([name, make]) => [name, async () => archiveOf(await make())])),
  ...files,
}

/** Every file in the data folder except the log, the record of the newest event, and the records of the tried backup, and every row except those of the timetable and the audit log, which reports the removal of the backup. */
async function everything(): Promise<string> {
  const hash = createHash('sha256')
  for (const entry of readdirSync(board.dataDir, { recursive: true, withFileTypes: true }).sort(
    (a, b) => a.parentPath.localeCompare(b.parentPath) || a.name.localeCompare(b.name),
  )) {
    const path = join(entry.parentPath, entry.name)
    if (!/\/logs?(\.db.*)?(\/|$)|board\.db|board-2020|database-use/.test(path))
      hash.update(path).update(entry.isFile() ? readFileSync(path) : '')
  }
  const { db } = board.server.app
  const tables = await db.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'card_t%' AND name NOT IN ('unindexed_cards', 'unindexed_remarks', 'project_days', 'event_cursors', 'server_settings', 'audit_entries', 'sqlite_sequence') ORDER BY name`,
  )
  for (const { name } of tables) hash.update(JSON.stringify(await db.all(`SELECT * FROM ${name}`)))
  return hash.digest('hex')
}

it('the archive from which the others are derived is valid', async () => {
  writeFileSync(join(board.dataDir, 'backups', filename), await archiveOf(good))
  expect((await board.client.backups.list()).find(each => each.filename === filename)).toMatchObject({
    verified: true,
    withKey: true,
  })
  await board.client.backups.delete({ filename })
})

it.each(Object.entries(cases))('rejects %s, on upload and on restore, and changes nothing', async (_, make) => {
  const bytes = await make()
  const before = await everything()
  const raw = Buffer.concat([
    Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`),
    bytes,
    Buffer.from('\r\n--b--\r\n'),
  ])
  const uploaded = await board.request('POST', '/api/backups/upload', {
    raw,
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  })
  expect([uploaded.status, uploaded.body.error], uploaded.text).toEqual([
    400,
    {
      code: 'INVALID_BACKUP',
      message: expect.stringMatching(/^The file is not a complete backup of a board: [a-z].*\.$/),
    },
  ])
  writeFileSync(join(board.dataDir, 'backups', filename), bytes)
  expect((await board.client.backups.list()).find(each => each.filename === filename)).toMatchObject({
    verified: false,
    size: bytes.length,
  })
  const { status, body } = await board.request('POST', `/api/backups/${filename}/restore`)
  expect([status, body.error.code]).toEqual([400, 'INVALID_BACKUP'])
  await board.client.backups.delete({ filename })
  expect(await everything()).toBe(before)
  expect(statSync(outside, { throwIfNoEntry: false })).toBeUndefined()
})
