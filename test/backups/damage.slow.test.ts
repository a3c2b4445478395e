import LibsqlDatabase from 'libsql'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let root: string
let dataDir: string
let board: TestBoard | undefined
const prepared = mkdtempSync(join(tmpdir(), 'board-prepared-'))
let filled: { projectId: string; filename: string }
/** A board with many cards, and a backup of it. */
beforeAll(async () => {
  const { client, close } = await startBoard({ dataDir: join(prepared, 'data') })
  const { id: projectId } = await client.projects.create({ name: 'Kept', path: prepared })
  for (let number = 0; number < 200; number++)
    await client.cards.create({ projectId, title: `card ${number}`, prompt: 'x'.repeat(2000), deferred: true })
  filled = { projectId, filename: (await client.backups.create()).filename }
  await close()
})
afterAll(() => rmSync(prepared, { recursive: true, force: true }))
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'board-damage-'))
  dataDir = join(root, 'data')
})
afterEach(async () => {
  await board?.close()
  board = undefined
  rmSync(root, { recursive: true, force: true })
})

const file = () => join(dataDir, 'board.db')
const start = async () => (board = await startBoard({ dataDir }))
const stop = async () => {
  await board!.close()
  board = undefined
}
/** Copies the prepared board to the data folder. */
function fill(): typeof filled {
  cpSync(join(prepared, 'data'), dataDir, { recursive: true, preserveTimestamps: true })
  return filled
}
const refusal = () =>
  startBoard({ dataDir }).then(
    () => 'started',
    (error: { code: string; message: string }) => [error.code, error.message],
  )
const copies = () => readdirSync(dataDir).filter(name => name.startsWith('damaged-'))

describe('a data folder whose database cannot be read', () => {
  const damages: Record<string, { reason: string; damage: () => void; isCopied: boolean }> = {
    'is missing': { reason: 'it is missing', damage: () => rmSync(file()), isCopied: false },
    'is empty': { reason: 'it is empty', damage: () => truncateSync(file(), 0), isCopied: false },
    'is another kind of file': {
      reason: 'it is not a database',
      damage: () => writeFileSync(file(), 'garbage '.repeat(2000)),
      isCopied: true,
    },
    'is truncated': { reason: 'it is incomplete', damage: () => truncateSync(file(), 3 * 4096), isCopied: true },
    'has a damaged first page': { reason: '.*', damage: () => overwrite(100, 4000), isCopied: true },
    'is a database without a board': {
      reason: 'it does not contain a board',
      damage: () => {
        rmSync(file())
        new LibsqlDatabase(file()).exec('CREATE TABLE t (x)')
      },
      isCopied: true,
    },
  }
  it.each(Object.entries(damages))(
    'that %s is rejected, kept, and never recreated',
    async (_, { reason, damage, isCopied }) => {
      const { filename } = fill()
      damage()
      const before = existsSync(file()) ? readFileSync(file()) : undefined
      for (let attempt = 0; attempt < 2; attempt++)
        expect(await refusal()).toEqual([
          'DATABASE_DAMAGED',
          expect.stringMatching(
            new RegExp(
              `^The database board\\.db is damaged: ${reason}\\. Nothing is written to it.* The newest valid backup is ${filename.replaceAll('.', '\\.')}\\. `,
            ),
          ),
        ])
      expect(existsSync(file()) ? readFileSync(file()).equals(before!) : before).toBe(
        before === undefined ? undefined : true,
      )
      expect(copies()).toHaveLength(isCopied ? 1 : 0)
      for (const name of copies()) expect(readFileSync(join(dataDir, name, 'board.db')).equals(before!)).toBe(true)
    },
  )

  const overwrite = (at: number, length: number) => {
    const bytes = readFileSync(file())
    bytes.fill(0xff, at, at + length)
    writeFileSync(file(), bytes)
  }

  it('is a new board only if there was none', async () => {
    await start()
    await stop()
    expect(existsSync(join(dataDir, 'database.json'))).toBe(true)
    rmSync(file())
    expect(await refusal()).toEqual([
      'DATABASE_DAMAGED',
      expect.stringContaining('There is no backup on this machine.'),
    ])
    rmSync(join(dataDir, 'database.json'))
    await start()
  })
})

describe('a database that is found to be damaged during use', () => {
  /** Damages the tables of cards without the server's knowledge, in its file and in no cache. */
  function damageCards(): void {
    const look = new LibsqlDatabase(file())
    const pages = look
      .prepare("SELECT rootpage FROM sqlite_master WHERE tbl_name = 'cards' AND rootpage > 0")
      .all([])
      .map(row => (row as { rootpage: number }).rootpage)
    look.close()
    const bytes = readFileSync(file())
    for (const page of pages) bytes.fill(0xff, (page - 1) * 4096, page * 4096)
    writeFileSync(file(), bytes)
  }

  it('is no longer written: 503 DATABASE_DAMAGED names the backup, the file is copied, and other reads continue', async () => {
    const { projectId, filename } = fill()
    damageCards()
    const { request } = await start()
    const refused = await request('POST', '/api/cards', { body: { projectId, title: 'refused', deferred: true } })
    expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([
      503,
      'DATABASE_DAMAGED',
      '300',
    ])
    const again = await eventually('a message with the backup', async () => {
      const reply = await request('POST', '/api/organizations', { body: { name: 'refused' } })
      return reply.body.error.message.includes(filename) && reply
    })
    expect([again.status, again.body.error.code]).toEqual([503, 'DATABASE_DAMAGED'])
    expect((await request('GET', '/api/projects')).body.data).toMatchObject([{ name: 'Kept' }])
    expect((await request('GET', '/api/health')).status).toBe(200)
    expect((await request('GET', '/api/ready')).status).toBe(503)
    expect(copies()).toHaveLength(1)
  })

  it("is detected by the server's daily check", async () => {
    fill()
    damageCards()
    const { request, server } = await start()
    await periodicJobs(server.app)
      .find(({ name }) => name === 'check the database file')!
      .run(new AbortController().signal)
    expect((await request('POST', '/api/organizations', { body: { name: 'refused' } })).body.error.code).toBe(
      'DATABASE_DAMAGED',
    )
    expect((await request('GET', '/api/projects')).status).toBe(200)
  })

  it('is replaced by a restore, and kept unchanged', async () => {
    const { projectId, filename } = fill()
    damageCards()
    const before = readFileSync(file())
    const { request } = await start()
    expect((await request('POST', '/api/cards', { body: { projectId, title: 'refused' } })).status).toBe(503)
    const { status, body } = await request('POST', `/api/backups/${filename}/restore`)
    expect([status, body.data]).toEqual([200, { filename, keptAs: expect.stringMatching(/^damaged-/) }])
    expect(readFileSync(join(dataDir, body.data.keptAs, 'board.db')).length).toBe(before.length)
    expect(
      (await request('POST', '/api/cards', { body: { projectId, title: 'accepted', deferred: true } })).status,
    ).toBe(201)
    expect((await request('GET', `/api/projects/${projectId}/cards`)).body.data).toHaveLength(201)
  })

  it('creates no backup that would be listed as valid', async () => {
    fill()
    damageCards()
    const { request, client } = await start()
    expect((await request('POST', '/api/backups')).status).toBe(503)
    expect(await client.backups.list()).toHaveLength(1)
  })
})
