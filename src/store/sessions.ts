import type { StatusReason } from '../contract/agents.ts'
import type { CardStatus } from '../contract/fields.ts'
import type { Reader, Transaction } from './database.ts'
import { defineRecord, entriesOf, flag, id, json, number, text, type Change, type NewRow, type Row } from './record.ts'

/** How many sessions have not ended, by status. */
export const countOpenSessions = (db: Reader): Promise<Array<{ kind: string; total: number }>> =>
  db.all('SELECT status AS kind, count(*) AS total FROM agent_sessions WHERE ended_at IS NULL GROUP BY status')

/** work: a card's agent. pre: the planning agent that refines its prompt. assistant: the project's. terminal: a shell command. */
export type SessionPurpose = 'work' | 'pre' | 'assistant' | 'terminal'
/** One run of an agent as lists need it. */
export const listedSessionFields = {
  id: id(),
  projectId: id(),
  cardId: id(),
  purpose: text<SessionPurpose>(),
  agent: text(),
  status: text<CardStatus>(),
  statusReason: text<StatusReason>().orNull(),
  /** What it waits for a person to decide. */
  question: text().orNull().computed(`json_extract(s.waiting_for, '$[0].title')`),
  detail: text().orNull(),
  /** The agent's own name of the session. */
  agentSessionId: text().orNull(),
  resumable: flag().initially(false),
  model: text().orNull(),
  inputTokens: number().initially(0),
  outputTokens: number().initially(0),
  contextUsed: number().orNull(),
  contextSize: number().orNull(),
  costUsd: number().orNull(),
  summary: text().orNull(),
  baseCommit: text().orNull(),
  branch: text().orNull(),
  cwd: text().orNull(),
  credentialId: id().orNull(),
  messages: number().initially(0).column('message_count'),
  toolCalls: number().initially(0).column('tool_count'),
  filesChanged: number().initially(0),
  createdAt: text().initiallyNow(),
  startedAt: text().orNull(),
  endedAt: text().orNull(),
}
export const sessionFields = {
  ...listedSessionFields,
  prompt: text(),
  /** What a person has to decide before it goes on, oldest first. */
  waitingFor: json<Array<{ requestId: string; title: string; kind: string }>>().orNull(),
}
export type SessionItem = Row<typeof listedSessionFields>
export type SessionRow = Row<typeof sessionFields>
export type NewSession = NewRow<typeof sessionFields>
export type SessionChange = Omit<
  Change<typeof sessionFields>,
  'projectId' | 'cardId' | 'purpose' | 'agent' | 'inputTokens' | 'outputTokens' | 'messages' | 'toolCalls' | 'createdAt'
>

const record = defineRecord('agent_sessions', 's', sessionFields)
const fields = record.columns
const listed = record.columnsOf(entriesOf({ entries: listedSessionFields }))

export const insertSession = (tx: Transaction, session: NewSession): Promise<number> => record.insert(tx, session)

export const updateSession = async (tx: Transaction, id: number, change: SessionChange): Promise<void> =>
  record.update(tx, id, change)

/** Adds the tokens of a turn. */
export const addSessionTokens = async (
  tx: Transaction,
  id: number,
  { inputTokens, outputTokens }: Pick<SessionRow, 'inputTokens' | 'outputTokens'>,
): Promise<void> => {
  tx.enqueue(
    'UPDATE agent_sessions SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ? WHERE id = ?',
    [inputTokens, outputTokens, id],
  )
}

/** Adds to how many messages and tool calls the transcript has. */
export const addSessionCounts = async (
  tx: Transaction,
  id: number,
  { messages, tools }: { messages: number; tools: number },
): Promise<void> => {
  tx.enqueue('UPDATE agent_sessions SET message_count = message_count + ?, tool_count = tool_count + ? WHERE id = ?', [
    messages,
    tools,
    id,
  ])
}

export const readSession = (db: Reader, id: number): Promise<SessionRow | undefined> =>
  db.get(`SELECT ${fields} FROM agent_sessions s WHERE s.id = ?`, [id])

/** A card's newest session that is not a pre-session, or its newest pre-session. */
export const readLatestSession = (db: Reader, cardId: number, { pre = false } = {}): Promise<SessionRow | undefined> =>
  db.get(
    `SELECT ${fields} FROM agent_sessions s WHERE s.card_id = ? AND (s.purpose = 'pre') = ? ORDER BY s.id DESC LIMIT 1`,
    [cardId, pre],
  )

/** The newest sessions of a card, pre-sessions left out, oldest first. */
export const listSessions = (db: Reader, cardId: number, limit = 1000): Promise<SessionItem[]> =>
  db.all(
    `SELECT * FROM (SELECT ${listed} FROM agent_sessions s WHERE s.card_id = ? AND s.purpose <> 'pre' ORDER BY s.id DESC LIMIT ?) ORDER BY id`,
    [cardId, limit],
  )

/**
 * A project's pre-sessions with ids below `before`, newest first. A page comes of `maxScanned` sessions at most, so that it costs
 * the same however many others there are: `next` is where the next page begins, if there may be one.
 */
export async function listPreSessions(
  db: Reader,
  projectId: number,
  { before = Number.MAX_SAFE_INTEGER, limit }: { before?: number; limit: number },
): Promise<{ rows: SessionItem[]; next: number | undefined }> {
  const last = await db.get<{ id: number }>(
    'SELECT id FROM agent_sessions INDEXED BY agent_sessions_by_project WHERE project_id = ? AND id < ? ORDER BY id DESC LIMIT 1 OFFSET ?',
    [projectId, before, maxScanned - 1],
  )
  const rows = await db.all<SessionItem>(
    `SELECT ${listed} FROM agent_sessions s INDEXED BY agent_sessions_by_project JOIN cards c ON c.id = s.card_id AND c.deleted_at IS NULL
     WHERE s.project_id = ? AND s.purpose = 'pre' AND s.id < ? AND s.id >= ? ORDER BY s.id DESC LIMIT ?`,
    [projectId, before, last?.id ?? 0, limit],
  )
  return { rows, next: rows.length === limit ? rows.at(-1)!.id : last?.id }
}
const maxScanned = 5000

/** A card's sessions without an end, oldest first. */
export const listOpenSessions = (db: Reader, cardId: number): Promise<SessionRow[]> =>
  db.all(
    `SELECT ${fields} FROM agent_sessions s INDEXED BY agent_sessions_by_card WHERE s.card_id = ? AND s.ended_at IS NULL ORDER BY s.id`,
    [cardId],
  )

export interface ActiveAgentRow {
  cardId: number
  cardTitle: string
  status: CardStatus
  agent: string
  startedAt: string | null
}
export type OpenSession = Pick<SessionRow, 'id' | 'cardId' | 'purpose' | 'status'>
/** All sessions of this machine's projects without an end, oldest first, with nothing that is long. */
export const listOpen = (db: Reader): Promise<OpenSession[]> =>
  db.all(
    'SELECT s.id, s.card_id AS cardId, s.purpose, s.status FROM agent_sessions s JOIN projects p ON p.id = s.project_id WHERE s.ended_at IS NULL AND p.host IS ? ORDER BY s.id',
    [db.host],
  )

/** The sessions without an end in projects that an account owns, and those that use a credential of its. */
export const openSessionsOf = async (db: Reader, userId: number): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT s.id FROM agent_sessions s INDEXED BY agent_sessions_open JOIN projects p ON p.id = s.project_id LEFT JOIN credentials c ON c.id = s.credential_id
       WHERE s.ended_at IS NULL AND (p.owner_id = ?1 OR c.user_id = ?1) ORDER BY s.id`,
      [userId],
    )
  ).map(({ id }) => id)

/** A project's cards with an active agent, the longest running first. */
export const listActiveAgents = (db: Reader, projectId: number): Promise<ActiveAgentRow[]> =>
  db.all(
    `SELECT s.card_id AS cardId, c.title AS cardTitle, s.status, s.agent, s.started_at AS startedAt FROM agent_sessions s INDEXED BY agent_sessions_open JOIN cards c ON c.id = s.card_id AND c.deleted_at IS NULL
   WHERE s.ended_at IS NULL AND s.project_id = ? AND s.purpose <> 'pre' ORDER BY s.id`,
    [projectId],
  )

/** What a project's agents have used so far. */
export async function readProjectTokens(db: Reader, projectId: number): Promise<{ total: number; sessions: number }> {
  const row = await db.get<{ total: number; sessions: number }>(
    'SELECT total, sessions FROM project_tokens WHERE project_id = ?',
    [projectId],
  )
  return { total: row?.total ?? 0, sessions: row?.sessions ?? 0 }
}

/** Commands that an agent announced in a project, as JSON text. */
export const writeAnnouncedCommands = async (
  tx: Transaction,
  projectId: number,
  agent: string,
  commands: string,
): Promise<void> => {
  tx.enqueue(
    'INSERT INTO announced_commands (project_id, agent, commands) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET commands = excluded.commands',
    [projectId, agent, commands],
  )
}
export const listAnnouncedCommands = (
  db: Reader,
  projectId: number,
): Promise<Array<{ agent: string; commands: string }>> =>
  db.all('SELECT agent, commands FROM announced_commands WHERE project_id = ? ORDER BY agent', [projectId])
