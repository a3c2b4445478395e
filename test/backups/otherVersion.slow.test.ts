import LibsqlDatabase from 'libsql'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { schemaVersion } from '../../src/store/engine/migrate.ts'
import { seedBoard } from '../bench/seed.ts'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'
import { buildNextVersion, nextSchemaVersion } from '../support/processes/nextVersion.ts'
import { hideAgents } from '../support/servers/testBoard.ts'

const cards = 300
const prepared = mkdtempSync(join(tmpdir(), 'board-versions-'))
let seeded: { dataDir: string; projectId: number }
let nextProgram: string
beforeAll(async () => {
  const { dataDir, projects } = await seedBoard(prepared, [cards])
  hideAgents(dataDir)
  seeded = { dataDir, projectId: projects[cards]!.projectId }
  nextProgram = await buildNextVersion(join(prepared, 'next'))
})
afterAll(() => rmSync(prepared, { recursive: true, force: true }))

let root: string
let dataDir: string
let board: BoardProcess
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-version-'))
  dataDir = join(root, 'data')
  cpSync(seeded.dataDir, dataDir, { recursive: true })
  board = boardProcess(dataDir, { HOME: root }, [], nextProgram)
})
afterEach(() => clearAway(board, root))

const file = () => join(dataDir, 'board.db')
const listCards = () => board.client.cards.list({ projectId: seeded.projectId })

describe('a database of a version that this program does not support', () => {
  const newer = `from a newer board. This program supports versions up to ${schemaVersion}. Run that board version or a newer one`
  const unreleased =
    'from an unreleased version of the board, which this program cannot migrate. To move the data, start the board version that wrote it, export there with board export or board projects export, and import the files here with board import board'
  it.each([
    [schemaVersion + 1, newer],
    [50, unreleased],
  ])('with schema version %i is rejected with the reason, and not changed', async (version, reason) => {
    const database = new LibsqlDatabase(file())
    database.exec(`PRAGMA user_version = ${version}; PRAGMA wal_checkpoint(TRUNCATE)`)
    database.close()
    const before = readFileSync(file())
    board = boardProcess(dataDir, { HOME: root })
    await expect(board.start()).rejects.toThrow(`this database has schema version ${version}, ${reason}`)
    expect(readFileSync(file())).toEqual(before)
    expect(readdirSync(dataDir).filter(name => /^(before-migration|damaged)/.test(name))).toEqual([])
  })
})

describe('a database of an earlier version', () => {
  it('is migrated, with a verified copy of the previous state next to it, of which three are kept', async () => {
    for (let round = 0; round < 4; round++) {
      for (const ending of ['', '-wal', '-shm']) rmSync(file() + ending, { force: true })
      cpSync(join(seeded.dataDir, 'board.db'), file())
      await board.start()
      expect(await listCards()).toHaveLength(cards)
      await board.end('SIGTERM')
    }
    expect(read(file(), 'PRAGMA user_version')).toMatchObject({ user_version: nextSchemaVersion })
    expect(
      read(file(), 'SELECT count(*) AS total FROM cards c JOIN next_cards n ON n.title = c.next_text'),
    ).toMatchObject({
      total: cards,
    })
    const folder = join(dataDir, 'before-migration')
    const names = readdirSync(folder)
    expect(names).toHaveLength(3)
    for (const name of names) {
      const copy = join(folder, name)
      expect(name).toMatch(new RegExp(`^board-.*-v${schemaVersion}\\.db$`))
      expect([statSync(folder).mode & 0o777, statSync(copy).mode & 0o777]).toEqual([0o700, 0o600])
      expect([
        read(copy, 'PRAGMA integrity_check'),
        read(copy, 'PRAGMA user_version'),
        read(copy, 'SELECT count(*) AS total FROM cards'),
      ]).toMatchObject([{ integrity_check: 'ok' }, { user_version: schemaVersion }, { total: cards }])
    }
  })

  it('in a backup is migrated when it is restored', async () => {
    const present = boardProcess(dataDir, { HOME: root })
    await present.start()
    const { filename } = await present.client.backups.create()
    await present.end('SIGTERM')
    await board.start()
    const later = await board.client.projects.create({ name: 'Later', path: root })
    expect(await board.client.backups.list()).toMatchObject([{ filename, verified: true }])
    await board.client.backups.restore({ filename })
    expect((await board.client.projects.list()).map(({ id }) => id)).not.toContain(later.id)
    expect(await listCards()).toHaveLength(cards)
    await board.client.cards.create({ projectId: seeded.projectId, title: 'new', deferred: true })
    await board.end('SIGTERM')
    expect(read(file(), 'PRAGMA user_version')).toMatchObject({ user_version: nextSchemaVersion })
  })
})

function read(path: string, sql: string): unknown {
  const database = new LibsqlDatabase(path)
  try {
    return database.prepare(sql).get([])
  } finally {
    database.close()
  }
}
