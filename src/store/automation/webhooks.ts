import type { Reader, Transaction } from '../engine/database.ts'
import { defineRecord, flag, id, json, text, type Change, type NewRow, type Row } from '../engine/record.ts'

/** A receiver of a project's events or of an account's notifications. `secret` is sealed. */
export const webhookFields = {
  id: id(),
  projectId: id().orNull(),
  userId: id().orNull(),
  url: text(),
  events: json<string[]>().initially('[]'),
  enabled: flag().initially(true),
  description: text().orNull(),
  disabledReason: text().orNull(),
  secret: text().initially(''),
  createdAt: text().initiallyNow(),
  updatedAt: text().initiallyNow(),
  makerUserId: id().orNull(),
  makerKeyId: id().orNull(),
  makerName: text().orNull().computed('u.display_name'),
  makerKeyName: text().orNull().computed('k.name'),
}
export type WebhookRow = Row<typeof webhookFields>

const record = defineRecord('webhooks', 'w', webhookFields)
const fields = record.columns
const source = 'webhooks w LEFT JOIN users u ON u.id = w.maker_user_id LEFT JOIN api_keys k ON k.id = w.maker_key_id'

/** A project's webhooks, oldest first. */
export const listWebhooks = (db: Reader, projectId: number): Promise<WebhookRow[]> =>
  db.all(`SELECT ${fields} FROM ${source} WHERE w.project_id = ? ORDER BY w.id`, [projectId])
export const countWebhooks = async (db: Reader, projectId: number): Promise<number> =>
  (await db.get<{ total: number }>('SELECT count(*) AS total FROM webhooks WHERE project_id = ?', [projectId]))!.total
export const readWebhook = (db: Reader, id: number): Promise<WebhookRow | undefined> =>
  db.get(`SELECT ${fields} FROM ${source} WHERE w.id = ?`, [id])
/** The receiver of an account's notifications. */
export const readUserWebhook = (db: Reader, userId: number): Promise<WebhookRow | undefined> =>
  db.get(`SELECT ${fields} FROM ${source} WHERE w.user_id = ?`, [userId])

export const insertWebhook = (tx: Transaction, webhook: NewRow<typeof webhookFields>): Promise<number> =>
  record.insert(tx, webhook)

export const updateWebhook = async (
  tx: Transaction,
  id: number,
  change: Omit<Change<typeof webhookFields>, 'projectId' | 'userId' | 'secret' | 'createdAt' | 'updatedAt'>,
): Promise<void> => record.update(tx, id, change)

export const setWebhookSecret = async (tx: Transaction, id: number, secret: string): Promise<void> => {
  await tx.run('UPDATE webhooks SET secret = ?, updated_at = ? WHERE id = ?', [secret, tx.now, id])
}

/** Disables a project's webhooks. */
export const disableWebhooks = async (tx: Transaction, projectId: number): Promise<void> => {
  await tx.run('UPDATE webhooks SET enabled = 0 WHERE project_id = ?', [projectId])
}

/** Reassigns the webhooks of an API key to its successor. */
export const reassignWebhooks = async (tx: Transaction, fromKeyId: number, toKeyId: number): Promise<void> => {
  await tx.run('UPDATE webhooks SET maker_key_id = ? WHERE maker_key_id = ?', [toKeyId, fromKeyId])
}

/** Deletes a webhook with its deliveries. */
export const deleteWebhook = async (tx: Transaction, id: number): Promise<void> => {
  await tx.run('DELETE FROM webhooks WHERE id = ?', [id])
}

/** The enabled webhooks of a project that subscribe to a type of event. */
export const webhooksFor = (db: Reader, projectId: number, type: string): Promise<Array<{ id: number }>> =>
  db.all(`SELECT w.id FROM webhooks w WHERE w.project_id = ? AND w.enabled = 1 AND ${wantsType('?')} ORDER BY w.id`, [
    projectId,
    type,
  ])

/** SQL: whether the webhook `w` subscribes to the type. */
const wantsType = (type: string) => `EXISTS (SELECT 1 FROM json_each(w.events) wanted WHERE wanted.value = ${type})`

/** SQL: whether any enabled webhook subscribes to the event `e`. */
export const isWantedByWebhook = `EXISTS (SELECT 1 FROM webhooks w WHERE w.project_id = e.project_id AND w.enabled = 1 AND ${wantsType('e.type')})`
