import type { InferOutput } from 'valibot'
import type { Question, StatusReason } from '../../contract/agents/agents.ts'
import type { SessionSandbox } from '../../contract/agents/sandbox.ts'
import type { CardStatus } from '../../contract/fields.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import {
  defineRecord,
  entriesOf,
  flag,
  id,
  json,
  number,
  text,
  type Change,
  type NewRow,
  type Row,
} from '../engine/record.ts'
import { isOwn, type SessionPurpose } from './sessionPurposes.ts'

/** How many sessions have not ended, by status. */
export const countOpenSessions = (db: Reader): Promise<Array<{ kind: string; total: number }>> =>
  db.all('SELECT status AS kind, count(*) AS total FROM agent_sessions WHERE ended_at IS NULL GROUP BY status')

/** The fields of a session that lists show. */
export const listedSessionFields = {
  id: id(),
  projectId: id(),
  cardId: id(),
  purpose: text<SessionPurpose>(),
  agent: text(),
  status: text<CardStatus>(),
  statusReason: text<StatusReason>().orNull(),
  /** The title of the session's oldest open question. */
  question: text().orNull().computed(`json_extract(s.waiting_for, '$[0].title')`),
  detail: text().orNull(),
  /** The agent's own ID of the session. */
  agentSessionId: text().orNull(),
  resumable: flag().initially(false),
  profile: text().orNull(),
  model: text().orNull(),
  mode: text().orNull(),
  effort: text().orNull(),
  inputTokens: number().initially(0),
  outputTokens: number().initially(0),
  contextUsed: number().orNull(),
  contextSize: number().orNull(),
  costUsd: number().orNull(),
  /** The total cost that the agent last reported for its own session. */
  reportedUsd: number().orNull(),
  /** The part of `costUsd` that comes from the price list and was not in a report of the agent yet. */
  estimatedUsd: number().initially(0),
  /** The account that started the session. */
  starterId: id().orNull(),
  summary: text().orNull(),
  baseCommit: text().orNull(),
  branch: text().orNull(),
  cwd: text().orNull(),
  credentialId: id().orNull(),
  /** When the agent's usage limit ends. */
  limitEndsAt: text().orNull(),
  /**
   * The earliest start of a queued session. Until then the agent, with its profile and credential, counts as limited
   * in the project.
   */
  notBefore: text().orNull(),
  /** The number of consecutive waits for a usage limit without progress. */
  limitWaits: number().initially(0),
  /** Since when the session has a slot, if slots are limited. */
  slotTakenAt: text().orNull(),
  /** The time since which a queued session waits for an occupied slot. */
  slotAwaitedAt: text().orNull(),
  /** The slot, the cards or the time that a queued session waits for, as text for users. */
  slotWait: text().orNull(),
  /**
   * Whether the session waits for the cards that block its card, until its work starts. A forced start and a session that continues work do
   * not wait for them.
   */
  waitsForBlockers: flag().initially(false),
  /** The credential that must be used instead of the card's credential. */
  askedCredentialId: id().orNull(),
  /** The time since which the agent has sent nothing in a turn, with no running tool and no open question. */
  silentSince: text().orNull(),
  /** The agent's own report of its retries. */
  retrying: text().orNull(),
  /** The sandbox of the agent. */
  sandbox: json<SessionSandbox>().orNull(),
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
  /** The open questions for a user, oldest first. */
  waitingFor: json<readonly AgentQuestion[]>().orNull(),
}
export type AgentQuestion = InferOutput<typeof Question>
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

/** Adds to the counts of messages and tool calls. */
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

/** A card's newest own session. */
export const readLatestSession = (db: Reader, cardId: number): Promise<SessionRow | undefined> =>
  db.get(
    `SELECT ${fields} FROM agent_sessions s WHERE s.card_id = ? AND ${isOwn('s.purpose')} ORDER BY s.id DESC LIMIT 1`,
    [cardId],
  )

const maxListedSessions = 1000
/** A card's newest own sessions, oldest first. */
export const listSessions = (db: Reader, cardId: number): Promise<SessionItem[]> =>
  db.all(
    `SELECT * FROM (SELECT ${listed} FROM agent_sessions s WHERE s.card_id = ? AND ${isOwn('s.purpose')} ORDER BY s.id DESC LIMIT ?) ORDER BY id`,
    [cardId, maxListedSessions],
  )

/**
 * A project's pre-sessions with IDs below `before`, newest first. Scans at most `maxScanned` sessions, so that the cost of a page
 * does not depend on other sessions. `next` is the cursor of the next page, if there might be one.
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

/** A card's open sessions, oldest first. */
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
export type OpenSession = Pick<SessionRow, 'id' | 'cardId' | 'purpose' | 'status' | 'statusReason' | 'notBefore'> & {
  /** Whether the session's work has not started, and its card waits for other cards or for a time. */
  isBlocked: 0 | 1
}
/** All open sessions of this machine's projects, oldest first, without long fields. */
export const listOpen = (db: Reader): Promise<OpenSession[]> =>
  db.all(
    `SELECT s.id, s.card_id AS cardId, s.purpose, s.status, s.status_reason AS statusReason, s.not_before AS notBefore,
      (s.purpose = 'work' AND s.started_at IS NULL AND (c.start_held = 1 OR (c.open_blockers > 0 AND s.waits_for_blockers = 1))) IS TRUE AS isBlocked
     FROM agent_sessions s JOIN projects p ON p.id = s.project_id LEFT JOIN cards c ON c.id = s.card_id
     WHERE s.ended_at IS NULL AND p.host IS ? ORDER BY s.id`,
    [db.host],
  )

/** Whether an agent has worked on a card. */
export const hasWorked = async (db: Reader, cardId: number): Promise<boolean> =>
  (await db.get(
    `SELECT 1 FROM agent_sessions WHERE card_id = ? AND purpose = 'work' AND started_at IS NOT NULL LIMIT 1`,
    [cardId],
  )) !== undefined

/**
 * The time until which an agent with a profile and a credential counts as limited in a project. Undefined if it is not
 * limited.
 */
export const readLimitedUntil = async (
  db: Reader,
  of: Pick<SessionRow, 'projectId' | 'agent' | 'profile' | 'credentialId'>,
  now: string,
): Promise<string | undefined> =>
  (
    await db.get<{ until: string | null }>(
      `SELECT max(not_before) AS until FROM agent_sessions INDEXED BY agent_sessions_by_limit
       WHERE project_id = ? AND not_before > ? AND agent = ? AND profile IS ? AND credential_id IS ?`,
      [of.projectId, now, of.agent, of.profile, of.credentialId],
    )
  )?.until ?? undefined

/** The open sessions of projects that an account owns, and those that use one of its credentials. */
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
   WHERE s.ended_at IS NULL AND s.project_id = ? AND ${isOwn('s.purpose')} ORDER BY s.id`,
    [projectId],
  )

/** The total usage of a project's agents. */
export async function readProjectTokens(db: Reader, projectId: number): Promise<{ total: number; sessions: number }> {
  const row = await db.get<{ total: number; sessions: number }>(
    'SELECT total, sessions FROM project_tokens WHERE project_id = ?',
    [projectId],
  )
  return { total: row?.total ?? 0, sessions: row?.sessions ?? 0 }
}

/** The usage of an agent's sessions that started on a day. */
export interface AgentUsageOfDay {
  day: string
  agent: string
  sessions: number
  inputTokens: number
  outputTokens: number
  costUsd: number | null
}
/** The usage by agent and day, oldest first, without terminal cards. */
export const listAgentUsage = (db: Reader, projectId: number, since: string): Promise<AgentUsageOfDay[]> =>
  db.all(
    `SELECT day, agent, sessions, input_tokens AS inputTokens, output_tokens AS outputTokens, cost_usd AS costUsd
     FROM agent_days WHERE project_id = ? AND day >= ? ORDER BY day, agent`,
    [projectId, since],
  )

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
