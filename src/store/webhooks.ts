import type { Reader, Transaction } from './database.ts'

/** A receiver of messages: of a project's events (`events` is JSON text), or of what an account is notified of. `secret` is sealed. */
export interface WebhookRow {
  id: number
  projectId: number | null
  userId: number | null
  url: string
  events: string
  enabled: 0 | 1
  description: string | null
  disabledReason: string | null
  secret: string
  createdAt: string
  updatedAt: string
}

const fields =
  'w.id, w.project_id AS projectId, w.user_id AS userId, w.url, w.events, w.enabled, w.description, w.disabled_reason AS disabledReason, w.secret, w.created_at AS createdAt, w.updated_at AS updatedAt'

/** A project's webhooks, oldest first. */
export const listWebhooks = (db: Reader, projectId: number): Promise<WebhookRow[]> =>
  db.all(`SELECT ${fields} FROM webhooks w WHERE w.project_id = ? ORDER BY w.id`, [projectId])
export const countWebhooks = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ total: number }>('SELECT count(*) AS total FROM webhooks WHERE project_id = ?', [projectId]))!.total
export const readWebhook = (db: Reader, id: number): Promise<WebhookRow | undefined> =>
  db.get(`SELECT ${fields} FROM webhooks w WHERE w.id = ?`, [id])
/** Where an account's notifications go. */
export const readUserWebhook = (db: Reader, userId: number): Promise<WebhookRow | undefined> =>
  db.get(`SELECT ${fields} FROM webhooks w WHERE w.user_id = ?`, [userId])

export const insertWebhook = async (
  tx: Transaction,
  webhook: {
    projectId?: number
    userId?: number
    url: string
    events?: string
    enabled?: boolean
    description?: string | null
  },
): Promise<number> =>
  (
    await tx.run(
      'INSERT INTO webhooks (project_id, user_id, url, events, enabled, description, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      [
        webhook.projectId,
        webhook.userId,
        webhook.url,
        webhook.events ?? '[]',
        webhook.enabled ?? true,
        webhook.description,
        tx.now,
        tx.now,
      ],
    )
  ).lastId

export const updateWebhook = async (
  tx: Transaction,
  {
    id,
    url,
    events,
    enabled,
    description,
    disabledReason,
  }: Pick<WebhookRow, 'id' | 'url' | 'events' | 'description' | 'disabledReason'> & { enabled: boolean },
): Promise<void> => {
  await tx.run(
    'UPDATE webhooks SET url = ?, events = ?, enabled = ?, description = ?, disabled_reason = ?, updated_at = ? WHERE id = ?',
    [url, events, enabled, description, disabledReason, tx.now, id],
  )
}

export const setWebhookSecret = async (tx: Transaction, id: number, secret: string): Promise<void> => {
  await tx.run('UPDATE webhooks SET secret = ?, updated_at = ? WHERE id = ?', [secret, tx.now, id])
}

/** Deletes a webhook with its deliveries. */
/** Keeps a project's webhooks, and sends nothing to them any more. */
export const disableWebhooks = async (tx: Transaction, projectId: number): Promise<void> => {
  await tx.run('UPDATE webhooks SET enabled = 0 WHERE project_id = ?', [projectId])
}

export const deleteWebhook = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM webhooks WHERE id = ?', [id])
}

/** The enabled webhooks of a project that want a type of event. */
export const webhooksFor = (db: Reader, projectId: number, type: string): Promise<Array<{ id: number }>> =>
  db.all(`SELECT w.id FROM webhooks w WHERE w.project_id = ? AND w.enabled = 1 AND ${wantsType('?')} ORDER BY w.id`, [
    projectId,
    type,
  ])

/** In SQL: whether the webhook `w` wants the type. */
const wantsType = (type: string) => `EXISTS (SELECT 1 FROM json_each(w.events) wanted WHERE wanted.value = ${type})`

/** In SQL: whether any enabled webhook wants the event `e`. */
export const isWantedByWebhook = `EXISTS (SELECT 1 FROM webhooks w WHERE w.project_id = e.project_id AND w.enabled = 1 AND ${wantsType('e.type')})`
