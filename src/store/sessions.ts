import type { StatusReason } from '../contract/agents.ts'
import type { CardStatus } from '../contract/fields.ts'
import type { Reader, Transaction } from './database.ts'

/** How many sessions have not ended, by status. */
export const countOpenSessions = (db: Reader): Promise<Array<{ kind: string; total: number }>> =>
  db.all('SELECT status AS kind, count(*) AS total FROM agent_sessions WHERE ended_at IS NULL GROUP BY status')

/** work: a card's agent. pre: the planning agent that refines its prompt. assistant: the project's. terminal: a shell command. */
export type SessionPurpose = 'work' | 'pre' | 'assistant' | 'terminal'
/** One run of an agent as lists need it. `question` is what it waits for a person to decide, `resumable` is 0 or 1, `agentSessionId` the agent's own name of it, times are ISO 8601. */
export interface SessionItem {
  id: number
  projectId: number
  cardId: number
  purpose: SessionPurpose
  agent: string
  status: CardStatus
  statusReason: StatusReason | null
  question: string | null
  detail: string | null
  agentSessionId: string | null
  resumable: number
  model: string | null
  inputTokens: number
  outputTokens: number
  contextUsed: number | null
  contextSize: number | null
  costUsd: number | null
  summary: string | null
  baseCommit: string | null
  branch: string | null
  cwd: string | null
  credentialId: number | null
  messageCount: number
  toolCount: number
  filesChanged: number
  createdAt: string
  startedAt: string | null
  endedAt: string | null
}
/** A session whole. `waitingFor` is JSON text: a list of what a person has to decide before it goes on, oldest first. */
export interface SessionRow extends SessionItem {
  prompt: string
  waitingFor: string | null
}

const listed = `s.id, s.project_id AS projectId, s.card_id AS cardId, s.purpose, s.agent, s.status, s.status_reason AS statusReason, json_extract(s.waiting_for, '$[0].title') AS question, s.detail,
  s.agent_session_id AS agentSessionId, s.resumable, s.model, s.input_tokens AS inputTokens, s.output_tokens AS outputTokens, s.context_used AS contextUsed, s.context_size AS contextSize, s.cost_usd AS costUsd,
  s.summary, s.base_commit AS baseCommit, s.branch, s.cwd, s.credential_id AS credentialId,
  s.message_count AS messageCount, s.tool_count AS toolCount, s.files_changed AS filesChanged, s.created_at AS createdAt, s.started_at AS startedAt, s.ended_at AS endedAt`
const fields = `${listed}, s.prompt, s.waiting_for AS waitingFor`

/** Database columns that a change of a session may name. */
const changeable = {
  status: 'status',
  statusReason: 'status_reason',
  detail: 'detail',
  agentSessionId: 'agent_session_id',
  resumable: 'resumable',
  model: 'model',
  contextUsed: 'context_used',
  contextSize: 'context_size',
  costUsd: 'cost_usd',
  summary: 'summary',
  baseCommit: 'base_commit',
  branch: 'branch',
  cwd: 'cwd',
  credentialId: 'credential_id',
  prompt: 'prompt',
  waitingFor: 'waiting_for',
  filesChanged: 'files_changed',
  startedAt: 'started_at',
  endedAt: 'ended_at',
} as const
export type SessionChange = {
  [Field in keyof typeof changeable]?: Field extends 'resumable' ? boolean : SessionRow[Field]
}

export type NewSession = Pick<SessionRow, 'projectId' | 'cardId' | 'purpose' | 'agent' | 'status' | 'prompt'> &
  Partial<Pick<SessionRow, 'agentSessionId' | 'credentialId' | 'baseCommit' | 'branch' | 'cwd'>>

export const insertSession = async (tx: Transaction, session: NewSession): Promise<number> =>
  (
    await tx.run(
      'INSERT INTO agent_sessions (project_id, card_id, purpose, agent, status, prompt, agent_session_id, credential_id, base_commit, branch, cwd, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      [
        session.projectId,
        session.cardId,
        session.purpose,
        session.agent,
        session.status,
        session.prompt,
        session.agentSessionId,
        session.credentialId,
        session.baseCommit,
        session.branch,
        session.cwd,
        tx.now,
      ],
    )
  ).lastId

export const updateSession = async (tx: Transaction, id: number, change: SessionChange): Promise<void> => {
  const names = Object.keys(change) as Array<keyof SessionChange>
  if (names.length > 0)
    tx.enqueue(`UPDATE agent_sessions SET ${names.map(name => `${changeable[name]} = ?`).join(', ')} WHERE id = ?`, [
      ...names.map(name => change[name]),
      id,
    ])
}

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
