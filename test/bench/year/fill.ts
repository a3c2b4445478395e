import type { Database } from '../../../src/store/database.ts'

/** What a board has done. */
export interface Work {
  events: number
  activities: number
  sessions: number
  /** Transcript pieces of each session. */
  pieces: number
}
/** A year of a busy team. */
export const wholeYear: Work = { events: 2_000_000, activities: 300_000, sessions: 20_000, pieces: 1500 }

/** A part of it: fewer sessions, each as long as ever. */
export const partOf = ({ pieces, ...work }: Work, share: number): Work => ({
  events: Math.ceil(work.events * share),
  activities: Math.ceil(work.activities * share),
  sessions: Math.ceil(work.sessions * share),
  pieces,
})

/** The cards that the work was on: `cards` of them from an id on. */
export interface Worked {
  projectId: number
  firstCardId: number
  cards: number
}

const piecesAMessage = 30
const rowsACommit = 20_000
const yearSecs = 365 * 86_400
/** SQL: the numbers ?1 to ?2, which are bound as floating ones. */
const numbers = 'WITH RECURSIVE n(i) AS (SELECT CAST(?1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i < ?2)'
/** SQL: the time of the i-th of ?4 things that end at ?3. */
const at = `strftime('%Y-%m-%dT%H:%M:%fZ', ?3, '-' || (${yearSecs}.0 * (?4 - i) / ?4) || ' seconds')`
const card = '(?6 + i % ?7)'
/** About as long as the real ones are. */
const eventText =
  'What the card is like after the change, with its title, its labels and what its agent did last. '.repeat(7)
const pieceText = 'I have read the report and the three files, and the cause is in the last of them. '

/** Inserts a year's rows of the past, as the board's own code would have left them, straight into its tables. */
export async function fillYear(db: Database, { projectId, firstCardId, cards }: Worked, work: Work): Promise<void> {
  const endsAt = new Date().toISOString()
  const messages = work.sessions * Math.ceil(work.pieces / piecesAMessage)
  const fill = (sql: string, count: number, text: string) =>
    inSteps(count, (first, last) =>
      db.transaction(tx =>
        tx.run(`${numbers} ${sql}`, [first, last, endsAt, count, projectId, firstCardId, cards, text]),
      ),
    )
  await fill(
    `INSERT INTO events (project_id, type, data, at) SELECT ?5, 'card.updated', json_object('id', CAST(${card} AS TEXT), 'text', ?8), ${at} FROM n`,
    work.events,
    eventText,
  )
  await fill(
    `INSERT INTO card_activity (card_id, at, actor_kind, actor_id, actor_name, action, changes) SELECT ${card}, ${at}, 'user', 1, 'Somebody', 'moved', ?8 FROM n WHERE ?5 > 0`,
    work.activities,
    '[{"field":"column","from":"Backlog","to":"In progress"}]',
  )
  const [session, message] = [await nextId(db, 'agent_sessions'), await nextId(db, 'transcript_messages')]
  await fill(
    `INSERT INTO agent_sessions (project_id, card_id, agent, status, prompt, created_at, started_at, ended_at, message_count) SELECT ?5, ${card}, 'claude', 'completed', ?8, ${at}, ${at}, ${at}, 50 FROM n`,
    work.sessions,
    'Mend what the customer saw.',
  )
  await fill(
    `INSERT INTO transcript_messages (session_id, card_id, role, at) SELECT s.id, s.card_id, 'agent', ${at} FROM n JOIN agent_sessions s ON s.id = ${session} + (i - 1) * ${work.sessions} / ${messages} WHERE ?4 + ?5 + ?6 + ?7 > 0 AND ?8 <> ''`,
    messages,
    '-',
  )
  await fillPieces(db, message, messages)
}

const nextId = async (db: Database, table: string): Promise<number> =>
  (await db.get<{ id: number }>(`SELECT coalesce(max(id), 0) + 1 AS id FROM ${table}`))!.id

async function fillPieces(db: Database, first: number, messages: number): Promise<void> {
  await inSteps(
    messages,
    (from, to) =>
      db.transaction(tx =>
        tx.run(
          `${numbers}, p(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM p WHERE number < ${piecesAMessage})
           INSERT INTO transcript_pieces (message_id, number, data) SELECT i, number, json_object('type', 'text', 'text', ?3 || i) FROM n, p`,
          [first + from - 1, first + to - 1, pieceText],
        ),
      ),
    rowsACommit / piecesAMessage,
  )
}

async function inSteps(
  count: number,
  fill: (first: number, last: number) => Promise<unknown>,
  atOnce = rowsACommit,
): Promise<void> {
  const step = Math.floor(atOnce)
  for (let first = 1; first <= count; first += step) await fill(first, Math.min(count, first + step - 1))
}
