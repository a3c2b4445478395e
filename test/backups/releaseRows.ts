import type { Reader } from '../../src/store/engine/database.ts'
import { indexPendingCards } from '../../src/domain/cards/search.ts'
import type { TestBoard } from '../support/servers/testBoard.ts'
import { seed } from '../support/contract/seed.ts'

const at = `'2026-11-30T12:00:00.000Z'`
const project = `(SELECT id FROM projects WHERE name = 'Seeded')`
const card = `(SELECT id FROM cards WHERE title = 'Seeded card')`
const other = `(SELECT id FROM cards WHERE title = 'Active')`
const session = `(SELECT id FROM agent_sessions WHERE purpose = 'work')`
const message = `(SELECT id FROM transcript_messages)`
const issue = `(SELECT id FROM card_issues)`

/** Rows of the tables that no request fills without an agent, a forge, an app or time. */
const rows = [
  `INSERT INTO user_settings (user_id, name, value) VALUES (1, 'theme', '"dark"')`,
  `INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at) VALUES ('app', 'App', '["https://app.example.org"]', ${at})`,
  `INSERT INTO oauth_tokens (hash, kind, key_id, created_at, expires_at) SELECT 'hash', 'refresh', id, ${at}, ${at} FROM api_keys`,
  `INSERT INTO credential_usage SELECT id, '2026-11-30', 1, 10, 5, 0.25 FROM credentials WHERE kind = 'api_key'`,
  `INSERT INTO project_days VALUES (${project}, '2026-11-29', 1, 1, 0, 1, '{"idle":3}')`,
  `INSERT INTO orphaned_worktrees (host, data, created_at) VALUES ('elsewhere', '{}', ${at})`,
  `INSERT INTO board_file_agreements (project_id, version, agreed_by, created_at) VALUES (${project}, 'v', 'Ada', ${at})`,
  `UPDATE cards SET assignees = '[{"userId":"1","displayName":"Ada"}]', due_at = ${at} WHERE id = ${card}`,
  `INSERT INTO card_blockers VALUES (${card}, ${other})`,
  `INSERT INTO card_ports VALUES (${card}, 41000)`,
  `INSERT INTO card_repositories VALUES (${card}, 'lib', '/lib', 'board/1', 'c0ffee', NULL)`,
  `INSERT INTO merge_targets VALUES (${project}, '', 'main', 'c0ffee')`,
  `INSERT INTO agent_sessions (project_id, card_id, agent, status, prompt, input_tokens, cost_usd, created_at, started_at, ended_at)
    VALUES (${project}, ${card}, 'fixture', 'running', 'Do it', 100, 0.25, ${at}, ${at}, ${at})`,
  `INSERT INTO agent_usage (day, session_id, card_id, project_id, agent, runs) VALUES ('2026-11-30', ${session}, ${card}, ${project}, 'fixture', 1)`,
  `UPDATE proofs SET status = 'passed', exit_code = 0, started_at = ${at}, finished_at = ${at}`,
  `INSERT INTO inbox_notes VALUES (1, ${card}, 'mention', (SELECT min(id) FROM comments), 'Ada', ${at})`,
  `INSERT INTO inbox_marks (user_id, card_id, kind, item_at) VALUES (1, ${card}, 'mention', ${at})`,
  `INSERT INTO notified_waits VALUES (${session})`,
  `INSERT INTO transcript_messages (session_id, card_id, role, at) VALUES (${session}, ${card}, 'agent', ${at})`,
  `INSERT INTO transcript_pieces VALUES (${message}, 1, '"All done"')`,
  `UPDATE agent_sessions SET status = 'completed' WHERE purpose = 'work'`,
  `INSERT INTO waiting_messages (session_id, content, message_id, created_at) VALUES (${session}, '[]', ${message}, ${at})`,
  `INSERT INTO agent_offers (host, agent) VALUES ('', 'fixture')`,
  `INSERT INTO announced_commands VALUES (${project}, 'fixture', '[]')`,
  `INSERT INTO script_runs (script_id, status, started_at, finished_at) SELECT id, 'stopped', ${at}, ${at} FROM scripts`,
  `INSERT INTO review_comments (review_id, path, side, start_line, line, text, body) SELECT id, 'README', 'new', 1, 1, 'A', 'Why?' FROM reviews`,
  `INSERT INTO review_repositories (review_id, name, path) SELECT id, 'lib', '/lib' FROM reviews`,
  `INSERT INTO review_drafts VALUES (1, ${card}, 'So far', '[]', ${at})`,
  `INSERT INTO pull_requests (card_id, repository, number, title, draft, base, branch, state, checks, reviews, auto_merge, merge_method, rounds, reported, created_at, updated_at)
    VALUES (${card}, '', 7, 'Roof', 0, 'main', 'board/1', 'open', '[]', '[]', 0, 'merge', 0, '[]', ${at}, ${at})`,
  `INSERT INTO forge_deliveries VALUES (${project}, 'd', ${at})`,
  `INSERT INTO issue_syncs (project_id, source, comments, failures, quiet) VALUES (${project}, 'repo', 0, 0, 0)`,
  `INSERT INTO card_issues (project_id, card_id, forge, number, url, title, prompt_digest, changed_at, seen_at, done, passes_comments, changes, failures)
    VALUES (${project}, ${card}, 'repo', 3, 'https://forge.example.org/3', 'Roof', '', ${at}, ${at}, 0, 0, 0, 0)`,
  `INSERT INTO issue_comments (issue_id, written_at, digest, gone) VALUES (${issue}, ${at}, '', 0)`,
  `INSERT INTO idempotent_answers VALUES ('user:1', 'k', 'h', 201, '{}', ${at})`,
]

/** Fills a board with a row of every table that a backup is to contain. */
export async function fillRelease(board: TestBoard): Promise<void> {
  const login = { email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' }
  const { token } = await board.client.auth.setup(login)
  await seed(board, token)
  const { db } = board.server.app
  const { path } = (await db.get<{ path: string }>('SELECT path FROM projects'))!
  await db.transaction(async tx => {
    for (const sql of rows) await tx.run(sql)
    // The backup contains no path of the machine that creates it.
    await tx.run(`UPDATE projects SET path = '/srv/seeded', folder_records = '{}'`)
    await tx.run(`UPDATE events SET data = replace(data, ?, '/srv/seeded')`, [path])
  })
  await indexPendingCards(db)
}

/** The tables that lack a row, except those that belong to the running daemons, and full-text indexes. */
export async function unfilledTables(db: Reader): Promise<string[]> {
  const tables = await db.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'card_t%'
     AND name NOT IN ('daemons', 'leases', 'process_runs', 'tickets', 'counters', 'revocations', 'unindexed_cards', 'unindexed_remarks')`,
  )
  const empty: string[] = []
  for (const { name } of tables) if (!(await db.get(`SELECT 1 FROM ${name} LIMIT 1`))) empty.push(name)
  return empty
}
