import LibsqlDatabase from 'libsql'
import { randomInt } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { verifyFile } from '../../src/backups/local.ts'
import { schemaVersion } from '../../src/store/engine/migrate.ts'
import { hashOfBoard } from '../backups/boardState.ts'
import { seedBoard } from '../bench/seed.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'
import { buildNextVersion, nextSchemaVersion } from '../support/processes/nextVersion.ts'
import { createDice } from './dice.ts'

/** BOARD_TEST_ROUNDS=100 for the long run; BOARD_TEST_SEED repeats a random run. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 3)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const patienceMs = 300_000 + rounds * 15_000

let root: string
let dataDir: string
let board: BoardProcess
let projectId: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-killed-'))
  dataDir = join(root, 'data')
  hideAgents(dataDir)
  board = boardProcess(dataDir, { HOME: root })
})
afterEach(() => clearAway(board, root))

/** A board with cards and attachments. */
async function fill(cards: number): Promise<void> {
  await board.start()
  projectId = (await board.client.projects.create({ name: 'Killed', path: root })).id
  const path = join(root, 'attached')
  for (let number = 0; number < cards; number++) {
    const { id: cardId } = await board.client.cards.create({ projectId, title: `card ${number}`, deferred: true })
    writeFileSync(path, `attachment ${number} `.repeat(number % 7 === 0 ? 50_000 : 100))
    await board.client.attachments.create({ projectId, cardId, file: { path } })
  }
}

/** Expects every listed backup to open, and no partial file. */
async function expectSound(): Promise<void> {
  for (const backup of await board.client.backups.list()) {
    expect(backup).toMatchObject({ verified: true })
    expect(await verifyFile(join(dataDir, 'backups', backup.filename))).toMatchObject({
      size: backup.size,
      sha256: backup.sha256,
    })
  }
  expect(readdirSync(join(dataDir, 'backups')).filter(name => !/^board-[\dT.-]+Z\.(tar\.gz|json)$/.test(name))).toEqual(
    [],
  )
  await eventually(
    'the end of leftover work',
    () => !readdirSync(dataDir).some(name => /^(restor|replaced|damaged)/.test(name)),
  )
}

const card = (title: string) => board.client.cards.create({ projectId, title, deferred: true })
const timed = async (work: Promise<unknown>) => {
  const startedAt = performance.now()
  await work
  return performance.now() - startedAt
}

it(
  `a server that is killed during a backup leaves a complete one or none, ${rounds} times (seed ${seed})`,
  async () => {
    const dice = createDice(seed)
    await fill(12)
    const usualMs = Math.max(await timed(board.client.backups.create()), await timed(board.client.backups.create()))
    let whole = 0
    for (let round = 0; round < rounds; round++) {
      const before = (await board.client.backups.list()).length
      const title = `before ${round}`
      await card(title)
      void board.client.backups.create({ withKey: dice.chance(0.5) }).catch(() => {
        /* The server dies. */
      })
      await delay(dice.between(0, Math.ceil(usualMs * 1.3)))
      await board.end('SIGKILL')
      await board.start()
      expect((await board.client.cards.list({ projectId })).map(each => each.title)).toContain(title)
      await expectSound()
      const backups = await board.client.backups.list()
      whole += backups.length - before
      for (const { filename } of backups.slice(3)) await board.client.backups.delete({ filename })
    }
    console.log(`${whole} of ${rounds} backups were complete before the kill.`)
  },
  patienceMs,
)

it(`a server that is stopped during a backup exits cleanly (seed ${seed})`, async () => {
  const dice = createDice(seed)
  ;({ dataDir } = await seedBoard(root, [40_000]))
  hideAgents(dataDir)
  board = boardProcess(dataDir, { HOME: root })
  await board.start()
  const usualMs = await timed(board.client.backups.create())
  for (let round = 0; round < 2 * rounds; round++) {
    void board.client.backups.create().catch(() => {
      /* The server stops. */
    })
    await delay(dice.between(usualMs / 4, usualMs))
    expect(await board.end('SIGTERM')).toMatchObject({ code: 0 })
    expect(board.stderr).toBe('')
    await board.start()
    await expectSound()
  }
}, 300_000)

it(
  `a server that is killed during a restore has the old state or the new one, ${rounds} times (seed ${seed})`,
  async () => {
    const dice = createDice(seed)
    await fill(12)
    const { filename } = await board.client.backups.create()
    const restored = hashOfBoard(dataDir)
    const usualMs = Math.max(
      await timed(board.client.backups.restore({ filename })),
      await timed(board.client.backups.restore({ filename })),
    )
    let changed = 0
    for (let round = 0; round < rounds; round++) {
      await card(`round ${round}`)
      const { id: cardId } = await card(`with a file ${round}`)
      await board.client.attachments.create({ projectId, cardId, file: { path: join(root, 'attached') } })
      const before = hashOfBoard(dataDir)
      void board.client.backups.restore({ filename }).catch(() => {
        /* The server dies. */
      })
      await delay(dice.between(0, Math.ceil(usualMs * 1.2)))
      await board.end('SIGKILL')
      await board.start()
      const after = hashOfBoard(dataDir)
      expect([before, restored]).toContain(after)
      changed += Number(after === restored)
      await expectSound()
      await card('it continues')
      for (const each of (await board.client.backups.list()).filter(({ origin }) => origin === 'restore'))
        await board.client.backups.delete({ filename: each.filename })
    }
    console.log(`${changed} of ${rounds} restores were done.`)
  },
  patienceMs,
)

it(
  `a server that is killed during a migration leaves the old schema or a later one, with every row, ${rounds} times (seed ${seed})`,
  async () => {
    const dice = createDice(seed)
    const cards = 4000
    const { dataDir: old, projects } = await seedBoard(join(root, 'old'), [cards])
    hideAgents(old)
    board = boardProcess(dataDir, { HOME: root }, [], await buildNextVersion(join(root, 'next')))
    const renew = () => {
      rmSync(dataDir, { recursive: true, force: true })
      cpSync(old, dataDir, { recursive: true })
    }
    renew()
    const usualMs = await timed(board.start())
    await board.end('SIGTERM')
    const seen: number[] = []
    for (let round = 0; round < rounds; round++) {
      renew()
      const starting = board.start().catch(() => {
        /* The server dies. */
      })
      await delay(dice.between(Math.floor(usualMs * 0.3), Math.ceil(usualMs)))
      await board.end('SIGKILL')
      await starting
      seen.push(expectRows(join(dataDir, 'board.db'), cards))
      for (const name of copiesOf(dataDir))
        expect(expectRows(join(dataDir, 'before-migration', name), cards)).toBe(schemaVersion)
      await board.start()
      expect(await board.client.cards.list({ projectId: projects[cards]!.projectId, limit: 1 })).toMatchObject([
        { title: expect.stringMatching(/^Card /) },
      ])
      await board.end('SIGTERM')
      expect(expectRows(join(dataDir, 'board.db'), cards)).toBe(nextSchemaVersion)
      expect(copiesOf(dataDir).length).toBeGreaterThan(0)
      expect(copiesOf(dataDir).length).toBeLessThanOrEqual(3)
    }
    console.log(
      `Versions after a kill: ${[...new Set(seen)]
        .sort()
        .map(version => `${version}: ${seen.filter(each => each === version).length}`)
        .join(', ')}`,
    )
  },
  patienceMs,
)

const copiesOf = (folder: string) =>
  existsSync(join(folder, 'before-migration'))
    ? readdirSync(join(folder, 'before-migration')).filter(name => name.endsWith('.db'))
    : []

/** Expects an unused database to be intact and to have every card. Returns its schema version. */
function expectRows(path: string, cards: number): number {
  const folder = mkdtempSync(join(root, 'look-'))
  mkdirSync(folder, { recursive: true })
  for (const ending of ['', '-wal'])
    if (existsSync(path + ending)) cpSync(path + ending, join(folder, `board.db${ending}`))
  const database = new LibsqlDatabase(join(folder, 'board.db'))
  const value = (sql: string) => Object.values(database.prepare(sql).get([]) as object)[0] as unknown
  expect([value('PRAGMA integrity_check'), value('SELECT count(*) FROM cards')]).toEqual(['ok', cards])
  const version = value('PRAGMA user_version') as number
  expect(version).toBeGreaterThanOrEqual(schemaVersion)
  database.close()
  rmSync(folder, { recursive: true })
  return version
}
