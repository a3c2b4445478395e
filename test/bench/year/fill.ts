import LibsqlDatabase from 'libsql'
import { isFileReleased } from '../../../src/store/engine/connection.ts'
import type { Texts } from './texts.ts'

/** The past work on a board. */
export interface Work {
  events: number
  activities: number
  sessions: number
  /** Transcript pieces of each session. */
  pieces: number
  /** The maximum length of the output of a tool, in characters. */
  maxLength: number
}
/** A year of a busy team. */
export const wholeYear: Work = {
  events: 2_000_000,
  activities: 300_000,
  sessions: 20_000,
  pieces: 1500,
  maxLength: 20_000,
}

/** A part of a year: fewer sessions of the usual length. */
export const partOf = ({ events, activities, sessions, ...rest }: Work, share: number): Work => ({
  events: Math.ceil(events * share),
  activities: Math.ceil(activities * share),
  sessions: Math.ceil(sessions * share),
  ...rest,
})

/** The processed cards: `cards` of them from an id on. */
export interface Worked {
  projectId: number
  firstCardId: number
  cards: number
}

/** How many pieces an agent's message has, and then a tool call with its result. */
const [textPieces, toolPieces] = [10, 2]
const [minText, maxText] = [40, 220]
const rowsACommit = 200_000
const turnsACommit = 20_000
const yearSecs = 365 * 86_400
/** SQL: the numbers @first to @last, which are bound as floats. */
const numbers = 'WITH RECURSIVE n(i) AS (SELECT CAST(@first AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i < @last)'
/** SQL: the time of the i-th of @count things that end at @endsAt. */
const at = `strftime('%Y-%m-%dT%H:%M:%fZ', @endsAt, '-' || (${yearSecs}.0 * (@count - i) / @count) || ' seconds')`
const card = 'CAST(@firstCardId + i % @cards AS INTEGER)'
/** SQL: a part of a text, with a pseudorandom length and position. */
const cut = (text: 'prose' | 'output', seed: string, from: number | string, to: number | string) =>
  `CAST(substr(@${text}, 1 + (${seed}) * 2654435761 % (length(@${text}) - ${to}), ${from} + (${seed}) * 40503 % (${to} - ${from})) AS TEXT)`

/**
 * Inserts a year's rows of the past directly into the tables, as the board's code would have left them. No other process must use the
 * file, because a crash would leave it broken.
 */
export async function fillYear(
  path: string,
  { projectId, firstCardId, cards }: Worked,
  work: Work,
  texts: Texts,
): Promise<void> {
  if (!(await isFileReleased(path))) throw new Error(`${path} is still in use.`)
  const db = new LibsqlDatabase(path)
  for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -400000', 'temp_store = MEMORY'])
    db.exec(`PRAGMA ${pragma}`)
  try {
    const shared = { endsAt: new Date().toISOString(), projectId, firstCardId, cards, ...texts }
    const fill = (sql: string, count: number, values: Record<string, unknown> = {}, atOnce = rowsACommit) => {
      const statement = db.prepare(`${numbers} ${sql}`)
      const all = { ...shared, count, ...values }
      const used = Object.fromEntries(Object.entries(all).filter(([name]) => new RegExp(`@${name}\\b`).test(sql)))
      for (let first = 1; first <= count; first += atOnce)
        statement.run({ ...used, first, last: Math.min(count, first + atOnce - 1) })
    }
    const nextId = (table: string) =>
      1 + ((db.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').get([table]) as { seq: number })?.seq ?? 0)
    fillHistory(fill, work)
    const session = nextId('agent_sessions')
    fillSessions(fill, work, session)
    fillTranscripts(fill, work, session, nextId('transcript_messages'))
  } finally {
    db.exec('PRAGMA journal_mode = WAL')
    db.close()
  }
  await isFileReleased(path)
}

type Fill = (sql: string, count: number, values?: Record<string, unknown>, atOnce?: number) => void

function fillHistory(fill: Fill, { events, activities }: Work): void {
  fill(
    `INSERT INTO events (project_id, type, data, at) SELECT @projectId, 'card.updated', json_object('id', CAST(${card} AS TEXT), 'text', ${cut('prose', 'i', 500, 800)}), ${at} FROM n`,
    events,
  )
  fill(
    `INSERT INTO card_activity (card_id, at, actor_kind, actor_id, actor_name, action, changes) SELECT ${card}, ${at}, 'user', 1, 'Ada', 'moved', '[{"field":"column","from":"Backlog","to":"In progress"}]' FROM n`,
    activities,
  )
}

function fillSessions(fill: Fill, { sessions }: Work, session: number): void {
  fill(
    `INSERT INTO agent_sessions (project_id, card_id, agent, status, prompt, created_at, started_at, ended_at, message_count, input_tokens, output_tokens, cost_usd)
     SELECT @projectId, ${card}, iif(i % 3, 'claude', 'codex'), 'completed', ${cut('prose', 'i', 40, 400)}, ${at}, ${at}, ${at}, 50, 20000, 3000, 0.25 FROM n`,
    sessions,
  )
  fill(
    `INSERT INTO agent_usage (day, session_id, card_id, project_id, agent, runs, input_tokens, output_tokens, cost_usd, running_ms)
     SELECT substr(s.started_at, 1, 10), s.id, s.card_id, s.project_id, s.agent, 1, s.input_tokens, s.output_tokens, s.cost_usd, 600000
     FROM n JOIN agent_sessions s ON s.id = @session + i - 1`,
    sessions,
    { session },
  )
}

/** Each turn has a message of the agent, and then one of a tool. */
function fillTranscripts(fill: Fill, { sessions, pieces, maxLength }: Work, session: number, message: number): void {
  const turns = Math.ceil(pieces / (textPieces + toolPieces))
  const from = { message, session, turns }
  fill(
    `INSERT INTO transcript_messages (id, session_id, card_id, role, call_id, at)
     SELECT @message + (i - 1), s.id, s.card_id, iif(i % 2, 'agent', 'tool'), iif(i % 2, NULL, 'call_' || i), ${at}
     FROM n JOIN agent_sessions s ON s.id = CAST(@session + (i - 1) / (2 * CAST(@turns AS INTEGER)) AS INTEGER)`,
    sessions * turns * 2,
    from,
  )
  const short = cut('prose', 'i * 13 + number', minText, maxText)
  const long = cut('output', 'i', Math.min(1000, maxLength / 2), maxLength)
  fill(
    `, p(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM p WHERE number < ${textPieces + toolPieces})
     INSERT INTO transcript_pieces (message_id, number, data)
     SELECT CAST(@message AS INTEGER) + 2 * (i - 1) + (number > ${textPieces}), iif(number > ${textPieces}, number - ${textPieces}, number),
       CASE WHEN number <= ${textPieces} THEN json_quote(${short})
         WHEN number = ${textPieces + 1} THEN json_object('title', 'Read what there is', 'kind', 'execute', 'status', 'in_progress')
         ELSE json_object('status', 'completed', 'content', ${long}) END
     FROM n CROSS JOIN p`,
    sessions * turns,
    from,
    turnsACommit,
  )
}
