import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest'
import { version } from '../../src/config/version.ts'
import type { Reader } from '../../src/store/engine/database.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openDatabase } from '../../src/store/engine/open.ts'
import { startSlotlessBoard } from '../support/contract/seed.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { membersOf } from './archives.ts'
import { fillRelease, unfilledTables } from './releaseRows.ts'

/** A backup of each released version, with its sealing key. */
const releases = join(import.meta.dirname, '../fixtures/releases')
const root = mkdtempSync(join(tmpdir(), 'board-releases-'))
let board: TestBoard | undefined
afterEach(() => board?.close())
afterAll(() => rmSync(root, { recursive: true, force: true }))

test.runIf(process.env.BOARD_WRITE_RELEASE)('writes the backup of this version', async () => {
  board = await startSlotlessBoard()
  await fillRelease(board)
  expect(await unfilledTables(board.server.app.db)).toEqual([])
  const { filename } = await board.client.backups.create({ withKey: true })
  mkdirSync(releases, { recursive: true })
  copyFileSync(join(board.dataDir, 'backups', filename), join(releases, `${version}.tar.gz`))
})

test('every released version has a backup, and this version has one', () => {
  expect(readdirSync(releases)).toContain(`${version}.tar.gz`)
})

describe.each(readdirSync(releases))('the backup %s', archive => {
  const dataDir = join(root, archive)
  beforeAll(async () => {
    for (const { name, bytes } of await membersOf(readFileSync(join(releases, archive)))) {
      mkdirSync(dirname(join(dataDir, name)), { recursive: true, mode: 0o700 })
      if (name !== 'manifest.json') writeFileSync(join(dataDir, name), bytes, { mode: 0o600 })
    }
  })

  it('has the schema of a new database after its upgrade, and keeps every row', async () => {
    const [upgraded, created] = [join(dataDir, 'board.db'), join(root, 'new.db')].map(path =>
      openDatabase({ path, clock: () => new Date() }),
    ) as [ReturnType<typeof openDatabase>, ReturnType<typeof openDatabase>]
    const before = await countRows(upgraded)
    await migrate(upgraded)
    await migrate(created)
    expect(await readSchema(upgraded)).toEqual(await readSchema(created))
    expect(await countRows(upgraded)).toMatchObject(before)
    await Promise.all([upgraded.close(), created.close()])
  })

  it('serves its records in its data folder, and after a restore', async () => {
    board = await startBoard({ dataDir })
    await expectRecords(board)
    mkdirSync(join(dataDir, 'backups'), { recursive: true })
    const filename = 'board-2026-01-01T00-00-00.000Z.tar.gz'
    copyFileSync(join(releases, archive), join(dataDir, 'backups', filename))
    await board.client.projects.create({ name: 'Later', path: root })
    await board.client.backups.restore({ filename })
    expect((await board.client.projects.list()).map(({ name }) => name)).toEqual(['Seeded'])
    await expectRecords(board)
  })
})

const readSchema = (db: Reader) =>
  db.all(`SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY type, name`)

async function countRows(db: Reader): Promise<Record<string, number>> {
  const tables = await db.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'card_t%'`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables)
    counts[name] = (await db.get<{ total: number }>(`SELECT count(*) AS total FROM ${name}`))!.total
  return counts
}

/** Reads records of several kinds by the API, and searches in the full-text indexes. */
async function expectRecords({ client, request }: TestBoard): Promise<void> {
  const projectId = (await client.projects.list())[0]!.id
  const cards = await client.cards.list({ projectId })
  expect(cards).toMatchObject([
    { title: 'Seeded card', blocked: true, attachmentCount: 1, commentCount: 1, assignees: [{ displayName: 'Ada' }] },
    { title: 'Active' },
  ])
  const card = { projectId, cardId: cards[0]!.id }
  expect(await client.comments.list(card)).toMatchObject({ items: [{ body: 'Seeded' }] })
  expect(await client.reviews.list(card)).toMatchObject([{ body: 'Seeded', comments: [{ body: 'Why?' }] }])
  expect(await client.agents.messages(card)).toMatchObject([{ role: 'agent', content: 'All done' }])
  expect(await client.pullRequests.get(card)).toMatchObject({ number: 7, title: 'Roof' })
  expect(await client.schedules.list({ projectId })).toMatchObject([{ name: 'Seeded' }])
  expect(await client.users.list()).toMatchObject({
    users: [{ name: 'Ada' }, { name: 'Stranger' }, { name: 'Member' }],
  })
  for (const q of ['Seeded card', 'done']) expect(await client.search.find({ q })).not.toEqual([])
  const [attachment] = await client.attachments.list(card)
  expect((await request('GET', `/api/attachments/${attachment!.id}`)).text).toBe('hello\n')
}
