import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listInbox } from '../../src/store/cards/inbox.ts'
import { listDueSyncs, readNextSyncTime } from '../../src/store/cards/cardIssues.ts'
import type { Database, Reader, Value } from '../../src/store/engine/database.ts'
import { migrate } from '../../src/store/engine/migrate.ts'
import { openDatabase } from '../../src/store/engine/open.ts'
import { findKnownSources } from '../../src/store/cards/cardSources.ts'
import { listDuePullRequests, readNextReadTime } from '../../src/store/forges/pullRequestReads.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-plans-'))
let db: Database
/** The statistics of the engine after a while: few projects with very many cards. It has none of pull requests and issues. */
const known = [
  ['projects', 'projects_by_host', '2 2 1'],
  ['projects', 'projects_by_owner', '2 2'],
  ['cards', 'cards_listed', '10100 5050 1'],
  ['cards', 'cards_listed_by_change', '10100 5050 5050 1'],
  ['cards', 'cards_listed_by_status', '10100 5050 5050 1'],
  ['cards', 'cards_listed_by_column', '10100 5050 1'],
  ['cards', 'cards_by_board', '10100 5050'],
  ['boards', 'boards_by_project', '2 1 1'],
  ['columns', 'columns_by_project', '6 3 3 1'],
]
beforeAll(async () => {
  const open = () => openDatabase({ path: join(folder, 'board.db'), clock: () => new Date() })
  const made = open()
  await migrate(made)
  await made.transaction(async tx => {
    tx.enqueue('ANALYZE')
    for (const row of known) tx.enqueue('INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)', row)
  })
  await made.close()
  db = open()
})
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The engine's plan for the statements of a store function. */
async function planOf(read: (reader: Reader) => Promise<unknown>): Promise<string[]> {
  const plan: string[] = []
  const explain = async (sql: string, args?: readonly Value[]) => {
    plan.push(...(await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, args)).map(({ detail }) => detail))
    return []
  }
  const one: Reader['get'] = async <T>(sql: string, args?: readonly Value[]) => {
    await explain(sql, args)
    return {} as T
  }
  await read({ host: null, all: explain as Reader['all'], get: one })
  return plan
}

/** Statements that run after each change of the board: a scan of all cards takes 25 ms and more with 100,000 of them, and delays all requests. */
const polled: Record<string, (reader: Reader) => Promise<unknown>> = {
  'the pull requests that are due': reader => listDuePullRequests(reader, '2026-01-01', [], 10),
  'when the next of them is': reader => readNextReadTime(reader, []),
  'the projects whose issues are due': reader => listDueSyncs(reader, '2026-01-01', []),
  'when the next of those is': reader => readNextSyncTime(reader, []),
}
test.each(Object.entries(polled))('%s are found without a scan of cards', async (_, read) => {
  const plan = await planOf(read)
  expect(plan.length).toBeGreaterThan(0)
  // `c` and `k` are cards, which must be found by their ids only.
  expect(plan.filter(step => /^(SCAN|SEARCH) (c|k|cards)\b/.test(step) && !step.includes('PRIMARY KEY'))).toEqual([])
})

test('the inbox reads only the cards that can be in one', async () => {
  const plan = await planOf(reader => listInbox(reader, 1, false, '2026-01-01T00:00:00.000Z'))
  expect(plan).toContain('SEARCH c USING INDEX cards_in_inboxes (project_id=?)')
  expect(plan.filter(step => /^SCAN (c|k|n|m|cards)\b/.test(step))).toEqual([])
})

test('the cards of imported sources are found by their sources, instead of comparing each source with each card', async () => {
  const sources = [{ kind: 'github', id: '1', url: 'https://github.com/acme/web/issues/1' }] as const
  const plan = await planOf(reader => findKnownSources(reader, 1, sources))
  expect(plan).toContain('SEARCH c USING INDEX cards_source (project_id=? AND <expr>=? AND <expr>=?)')
})
