import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { moveFromServer, moveToServer } from '../../src/backups/moveDatabase.ts'
import type { AuditEntry } from '../../src/contract/server/audit.ts'
import { verifyFile } from '../../src/backups/local.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { startLibsqlServer } from '../support/servers/libsqlServer.ts'
import { isSharable, secretKey, startSharing, type Sharing } from './sharing.ts'

/** How many cards are moved there and back; 10,000 for a long run (BOARD_TEST_CARDS). */
const cardCount = Number(process.env.BOARD_TEST_CARDS ?? 1500)

describe.skipIf(!isSharable)('a board that moves', () => {
  let sharing: Sharing
  let dataDir: string
  let shared: TestBoard
  let audited: readonly AuditEntry[]
  const server = () => ({ url: sharing.server.url })

  beforeAll(async () => {
    sharing = await startSharing()
    const own = await startBoard({ secretKey })
    sharing.end(() => own.close())
    dataDir = own.dataDir
    const { id: projectId } = await own.client.projects.create({ name: 'Moving', path: own.folder('project') })
    const columns = await own.client.columns.list({ projectId })
    const lines = Array.from({ length: cardCount }, (_, number) => ({
      projectId,
      title: `card ${number} é\u{1F600}`,
      labels: ['a', 'b'],
      columnId: columns[number % 3]!.id,
      deferred: true,
    }))
    for (let at = 0; at < lines.length; at += 200)
      await Promise.all(lines.slice(at, at + 200).map(line => own.client.cards.create(line)))
    await own.client.keys.create({ name: 'Audited', scope: 'server', permissions: ['cards.read'] })
    audited = await auditOf(own)
    await own.server.stop()
  })

  const auditOf = async ({ client }: TestBoard) => (await client.audit.list({ limit: 1000 })).items

  it('first states its size, without any change', async () => {
    // The log's database, which was closed in this process, is released when it is collected.
    const files = () => readdirSync(dataDir).filter(name => !name.startsWith('logs.db-'))
    const before = files()
    const { rows } = await moveToServer({ dataDir, machine: 'one', server: server(), dryRun: true })
    expect(rows).toBeGreaterThan(cardCount)
    expect(files()).toEqual(before)
  })

  it('is on the server completely, is served there, and no longer from its file', async () => {
    const moved = await moveToServer({ dataDir, machine: 'one', server: server() })
    expect(moved.tables.find(({ table }) => table === 'cards')!.rows).toBe(cardCount)
    expect([existsSync(join(dataDir, 'board.db')), existsSync(join(dataDir, moved.keptAs!))]).toEqual([false, true])
    await expect(startBoard({ dataDir, secretKey })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(sharing.server.url),
    })
    await expect(moveToServer({ dataDir, machine: 'one', server: server() })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    shared = await sharing.join('one')
    expect(audited.map(({ action }) => action)).toContain('keys.create')
    expect((await auditOf(shared)).slice(-audited.length)).toEqual(audited)
    const [project] = await shared.client.projects.list()
    const { total, byColumn } = await shared.client.projects.stats({ id: project!.id })
    expect([total, byColumn.reduce((sum, { count }) => sum + count, 0)]).toEqual([cardCount, cardCount])
    const made = await shared.client.cards.create({ projectId: project!.id, title: 'one more', deferred: true })
    expect(Number(made.id)).toBe(cardCount + 1)
  })

  it('is backed up from the server like any board, and is restored by moving it', async () => {
    const { filename } = await shared.client.backups.create()
    const path = join(shared.dataDir, 'backups', filename)
    expect(await verifyFile(path)).toMatchObject({ filename })
    await expect(shared.client.backups.restore({ filename })).rejects.toMatchObject({ code: 'CONFLICT' })
    const other = await startLibsqlServer()
    try {
      const moved = await moveToServer({ dataDir, machine: 'one', server: { url: other.url } }, path)
      expect(moved.tables.find(({ table }) => table === 'cards')!.rows).toBe(cardCount + 1)
      await expect(moveToServer({ dataDir, machine: 'one', server: { url: other.url } }, path)).rejects.toMatchObject({
        code: 'CONFLICT',
      })
      await moveToServer({ dataDir, machine: 'one', server: { url: other.url }, replace: true }, path)
    } finally {
      await other.close()
    }
  })

  it('is not moved back while a daemon works on it, nor to a machine without its folders', async () => {
    await expect(moveFromServer({ dataDir, machine: 'one', server: server() })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('Servers use this database'),
    })
    await shared.server.stop()
    await expect(moveFromServer({ dataDir, machine: 'two', server: server() })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('one'),
    })
  })

  it('is equal after a move back, and is served from its file again', async () => {
    const { tables } = await moveFromServer({ dataDir, machine: 'one', server: server() })
    expect(tables.find(({ table }) => table === 'cards')!.rows).toBe(cardCount + 1)
    const board = await startBoard({ dataDir, secretKey })
    expect((await auditOf(board)).slice(-audited.length)).toEqual(audited)
    const [project] = await board.client.projects.list()
    expect((await board.client.projects.stats({ id: project!.id })).total).toBe(cardCount + 1)
    await board.client.cards.create({ projectId: project!.id, title: 'at home', deferred: true })
    await board.server.stop()
  })
})
