import type { Reader, Transaction } from '../engine/database.ts'
import type { Maker } from '../accounts/makers.ts'

export type DeliveryStatus = 'pending' | 'succeeded' | 'failed'
/**
 * A message to a receiver, with its latest attempt. `url` is the address of that attempt or, before the first attempt, the address for it.
 */
export interface DeliveryRow {
  id: number
  webhookId: number
  messageId: string
  type: string
  body: string
  status: DeliveryStatus
  attempts: number
  nextAttemptAt: string | null
  url: string
  responseStatus: number | null
  responseBody: string | null
  error: string | null
  durationMs: number | null
  createdAt: string
  lastAttemptAt: string | null
  finishedAt: string | null
}
/** A delivery that is due, with the data of its webhook that an attempt requires. `secret` is encrypted. */
export interface DueDelivery extends Maker {
  id: number
  webhookId: number
  projectId: number | null
  type: string
  messageId: string
  body: string
  attempts: number
  url: string
  secret: string
}
/** The result of an attempt. */
export interface AttemptRow {
  url: string
  responseStatus: number | null
  responseBody: string | null
  error: string | null
  durationMs: number
  startedAt: string
  status: DeliveryStatus
  nextAttemptAt: string | null
}

const fields = `d.id, d.webhook_id AS webhookId, d.message_id AS messageId, d.type, d.body, d.status, d.attempts, d.next_attempt_at AS nextAttemptAt, coalesce(d.url, w.url) AS url, d.response_status AS responseStatus,
  d.response_body AS responseBody, d.error, d.duration_ms AS durationMs, d.created_at AS createdAt, d.last_attempt_at AS lastAttemptAt, d.finished_at AS finishedAt`
const source = 'webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id'

export const insertDelivery = async (
  tx: Transaction,
  {
    webhookId,
    messageId,
    type,
    body,
    requested = false,
  }: Pick<DeliveryRow, 'webhookId' | 'messageId' | 'type' | 'body'> & { requested?: boolean },
): Promise<number> =>
  (
    await tx.run(
      'INSERT INTO webhook_deliveries (webhook_id, message_id, type, body, requested, next_attempt_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      [webhookId, messageId, type, body, requested, tx.now, tx.now],
    )
  ).lastId

export const readDelivery = (db: Reader, webhookId: number, id: number): Promise<DeliveryRow | undefined> =>
  db.get(`SELECT ${fields} FROM ${source} WHERE d.id = ? AND d.webhook_id = ?`, [id, webhookId])

/** A webhook's deliveries, newest first: those with an ID below `before`. */
export const listDeliveries = (
  db: Reader,
  webhookId: number,
  { status, before = Number.MAX_SAFE_INTEGER, limit }: { status?: DeliveryStatus; before?: number; limit: number },
): Promise<DeliveryRow[]> =>
  status === undefined
    ? db.all(`SELECT ${fields} FROM ${source} WHERE d.webhook_id = ? AND d.id < ? ORDER BY d.id DESC LIMIT ?`, [
        webhookId,
        before,
        limit,
      ])
    : db.all(
        `SELECT ${fields} FROM ${source} WHERE d.webhook_id = ? AND d.status = ? AND d.id < ? ORDER BY d.id DESC LIMIT ?`,
        [webhookId, status, before, limit],
      )

/** The webhooks that have a delivery due at this time. */
export const webhooksWithDueDeliveries = async (db: Reader, now: string): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT w.id FROM webhooks w WHERE w.enabled = 1 AND (
     EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.attempts = 0)
     OR EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.attempts > 0 AND d.next_attempt_at <= ?))`,
      [now],
    )
  ).map(({ id }) => id)

/** The disabled webhooks that still have pending deliveries. */
export const disabledWithDeliveries = async (db: Reader): Promise<number[]> =>
  (
    await db.all<{ id: number }>(
      `SELECT w.id FROM webhooks w WHERE w.enabled = 0 AND EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending')`,
    )
  ).map(({ id }) => id)

const due = `SELECT d.id, d.webhook_id AS webhookId, w.project_id AS projectId, w.maker_user_id AS makerUserId, w.maker_key_id AS makerKeyId, d.type, d.message_id AS messageId, d.body, d.attempts, w.url, w.secret, d.requested, d.next_attempt_at AS dueAt FROM ${source} WHERE w.id = ? AND w.enabled = 1 AND d.status = 'pending'`

/**
 * The next delivery of a webhook: one that a user requested, otherwise the longer waiting of its first unattempted delivery and
 * its first retry that is due.
 */
export async function nextDelivery(db: Reader, webhookId: number, now: string): Promise<DueDelivery | undefined> {
  type Candidate = DueDelivery & { requested: 0 | 1; dueAt: string }
  const first = await db.get<Candidate>(`${due} AND d.attempts = 0 ORDER BY d.requested DESC, d.id LIMIT 1`, [
    webhookId,
  ])
  if (first?.requested) return first
  const again = await db.get<Candidate>(
    `${due} AND d.attempts > 0 AND d.next_attempt_at <= ? ORDER BY d.next_attempt_at LIMIT 1`,
    [webhookId, now],
  )
  return first && again ? (again.dueAt < first.dueAt ? again : first) : (first ?? again)
}

/** The number of stored deliveries, by status. */
export const countDeliveries = (db: Reader): Promise<Array<{ kind: string; total: number }>> =>
  db.all('SELECT status AS kind, count(*) AS total FROM webhook_deliveries GROUP BY status')

/** Records an attempt of a pending delivery. @returns whether it is still pending */
export const recordAttempt = async (
  tx: Transaction,
  id: number,
  { url, responseStatus, responseBody, error, durationMs, startedAt, status, nextAttemptAt }: AttemptRow,
): Promise<boolean> =>
  (
    await tx.run(
      `UPDATE webhook_deliveries SET attempts = attempts + 1, url = ?, response_status = ?, response_body = ?, error = ?, duration_ms = ?, last_attempt_at = ?, status = ?, next_attempt_at = ?, finished_at = ?
   WHERE id = ? AND status = 'pending'`,
      [
        url,
        responseStatus,
        responseBody,
        error,
        durationMs,
        startedAt,
        status,
        nextAttemptAt,
        status === 'pending' ? null : tx.now,
        id,
      ],
    )
  ).changes === 1

/** Makes a pending delivery due now. */
export const hastenDelivery = async (tx: Transaction, id: number): Promise<void> => {
  tx.enqueue('UPDATE webhook_deliveries SET next_attempt_at = ?, requested = 1 WHERE id = ?', [tx.now, id])
}

/**
 * Makes pending deliveries due now if their latest attempt is in the future: the clock was set back, so their backoff is wrong.
 */
export const hastenAttemptedLater = async (tx: Transaction): Promise<void> => {
  tx.enqueue(
    "UPDATE webhook_deliveries SET next_attempt_at = ? WHERE status = 'pending' AND attempts > 0 AND last_attempt_at > ?",
    [tx.now, tx.now],
  )
}

/** Fails up to `limit` of a webhook's pending deliveries. @returns the number of deliveries */
export const failDeliveries = async (
  tx: Transaction,
  webhookId: number,
  error: string,
  limit: number,
): Promise<number> =>
  (
    await tx.run(
      `UPDATE webhook_deliveries SET status = 'failed', error = ?, next_attempt_at = NULL, finished_at = ?
   WHERE id IN (SELECT id FROM webhook_deliveries WHERE webhook_id = ? AND status = 'pending' ORDER BY id LIMIT ?)`,
      [error, tx.now, webhookId, limit],
    )
  ).changes

/** Deletes up to `limit` of a webhook's deliveries. @returns the number of deliveries */
export const deleteDeliveries = async (tx: Transaction, webhookId: number, limit: number): Promise<number> =>
  (
    await tx.run(
      'DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE webhook_id = ? LIMIT ?)',
      [webhookId, limit],
    )
  ).changes

/** Deletes up to `limit` deliveries that ended before a time. @returns the number of deliveries */
export const forgetDeliveries = async (tx: Transaction, before: string, limit: number): Promise<number> =>
  (
    await tx.run(
      'DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE finished_at < ? LIMIT ?)',
      [before, limit],
    )
  ).changes
