import LibsqlDatabase from 'libsql'
import { mkdtempSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { largeBoard } from '../transfers/largeBoard.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'

/** How often the server is killed in the middle of an import. For longer runs: BOARD_TEST_ROUNDS. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 3)
const cardCount = 3000
const attachmentCount = 200

const root = mkdtempSync(join(tmpdir(), 'board-import-crash-'))
const dataDir = join(root, 'data')
const file = join(root, 'board.json')
const board = boardProcess(dataDir, {})
afterAll(() => clearAway(board, root))

/** The row counts of the stopped server's database. */
function counts(): Record<string, number> {
  const database = new LibsqlDatabase(join(dataDir, 'board.db'))
  try {
    expect(database.prepare('PRAGMA integrity_check').get()).toMatchObject({ integrity_check: 'ok' })
    return Object.fromEntries(
      [
        'projects',
        'boards',
        'columns',
        'column_leaves',
        'cards',
        'agent_sessions',
        'transcript_messages',
        'attachments',
      ].map(table => [
        table,
        (database.prepare(`SELECT count(*) AS total FROM ${table}`).get() as { total: number }).total,
      ]),
    )
  } finally {
    database.close()
  }
}

it(
  `a killed import is complete or absent, ${rounds} times`,
  async () => {
    hideAgents(dataDir)
    writeFileSync(file, JSON.stringify(largeBoard(root, cardCount, attachmentCount)))
    await board.start()
    const startedMs = performance.now()
    await board.client.transfers.import({ format: 'board', file: { path: file } })
    const tookMs = performance.now() - startedMs
    const one = {
      cards: cardCount,
      agent_sessions: cardCount / 10,
      transcript_messages: (3 * cardCount) / 10,
      attachments: attachmentCount,
      boards: 1,
      columns: 5,
      column_leaves: 25,
    }
    let whole = 1
    for (let round = 0; round < rounds; round++) {
      const importing = board.client.transfers.import({ format: 'board', file: { path: file } }).then(
        () => true,
        () => false,
      )
      await delay((tookMs * (round + 1)) / (rounds + 1))
      await board.end('SIGKILL')
      const isDone = await importing
      await board.start()
      const seen = (await board.client.projects.list()).length
      expect(isDone ? [whole + 1] : [whole, whole + 1]).toContain(seen)
      whole = seen
      for (const { id } of await board.client.projects.list())
        expect((await board.client.projects.stats({ id })).total).toBe(cardCount - cardCount / 5)
      await eventually(
        'the removal of the partial import',
        async () => (await board.client.projects.list()).length === whole && (await isSwept(whole * cardCount)),
        30_000,
      )
    }
    await board.end('SIGTERM')
    expect(counts()).toEqual({
      projects: whole,
      ...Object.fromEntries(Object.entries(one).map(([table, count]) => [table, count * whole])),
    })
    const folder = join(dataDir, 'attachments')
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), 0, 0)
    await board.start()
    await eventually(
      'the end of files without an attachment',
      () => readdirSync(folder).length === whole * attachmentCount,
      10_000,
    )
    expect(readdirSync(join(dataDir, 'transfers'))).toEqual([])
  },
  300_000 + rounds * 30_000,
)

/** Whether the rows of an interrupted import are removed, which happens step by step; another process can check it concurrently. */
async function isSwept(cards: number): Promise<boolean> {
  const database = new LibsqlDatabase(join(dataDir, 'board.db'), { readonly: true } as never)
  try {
    return (
      (database.prepare('SELECT count(*) AS total FROM cards').get() as { total: number }).total === cards &&
      (database.prepare('SELECT count(*) AS total FROM projects WHERE hidden = 1').get() as { total: number }).total ===
        0
    )
  } finally {
    database.close()
  }
}
