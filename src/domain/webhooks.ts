import { Problem } from '../contract/errors.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { failDeliveries, readDelivery, type DeliveryRow } from '../store/deliveries.ts'
import { countWebhooks, deleteWebhook, insertWebhook, listWebhooks, readWebhook, updateWebhook, type WebhookRow } from '../store/webhooks.ts'

const mostWebhooks = 50

export interface WebhookRef { projectId: number; webhookId: number }
export interface WebhookChange { url?: string; events?: readonly string[]; enabled?: boolean; description?: string | null }

/** A project's webhooks, oldest first. */
export const list = (db: Reader, projectId: number): Promise<WebhookRow[]> => listWebhooks(db, projectId)

/** @throws Problem WEBHOOK_NOT_FOUND */
export async function find(db: Reader, { projectId, webhookId }: WebhookRef): Promise<WebhookRow> {
  const webhook = await readWebhook(db, webhookId)
  if (webhook?.projectId !== projectId) throw new Problem('WEBHOOK_NOT_FOUND')
  return webhook
}

/** @throws Problem WEBHOOK_NOT_FOUND, CONFLICT when it is disabled */
export async function findEnabled(db: Reader, ref: WebhookRef): Promise<WebhookRow> {
  const webhook = await find(db, ref)
  if (!webhook.enabled) throw new Problem('CONFLICT', 'The webhook is disabled; enable it first.')
  return webhook
}

/** @throws Problem WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND */
export async function findDelivery(db: Reader, ref: WebhookRef, deliveryId: number): Promise<DeliveryRow> {
  const { id } = await find(db, ref)
  return await readDelivery(db, id, deliveryId) ?? refuse('DELIVERY_NOT_FOUND')
}

/** Adds a webhook that has no secret yet. The caller has checked the target. @throws Problem CONFLICT when the project has 50 */
export async function create(tx: Transaction, projectId: number, { url, events, enabled, description }: { url: string; events: readonly string[]; enabled: boolean; description: string | null }): Promise<WebhookRow> {
  if (await countWebhooks(tx, projectId) >= mostWebhooks) throw new Problem('CONFLICT', `A project has at most ${mostWebhooks} webhooks.`)
  const webhookId = await insertWebhook(tx, { projectId, url, events: JSON.stringify(events), enabled, description })
  return find(tx, { projectId, webhookId })
}

/** Changes a webhook. The caller has checked a new target. What is pending when it is disabled fails. @throws Problem WEBHOOK_NOT_FOUND */
export async function update(tx: Transaction, ref: WebhookRef, change: WebhookChange): Promise<WebhookRow> {
  const webhook = await find(tx, ref)
  if (Object.values(change).every(value => value === undefined)) return webhook
  const enabled = change.enabled ?? webhook.enabled === 1
  await updateWebhook(tx, {
    id: webhook.id, url: change.url ?? webhook.url, events: change.events ? JSON.stringify(change.events) : webhook.events, enabled,
    description: change.description === undefined ? webhook.description : change.description, disabledReason: enabled ? null : webhook.disabledReason,
  })
  if (!enabled && webhook.enabled) await failDeliveries(tx, webhook.id, 'The webhook was disabled.')
  return find(tx, ref)
}

/** Disables a webhook because of what its receiver did; what is pending fails. */
export async function disable(tx: Transaction, webhookId: number, disabledReason: string): Promise<void> {
  const webhook = await readWebhook(tx, webhookId)
  if (!webhook?.enabled) return
  await updateWebhook(tx, { ...webhook, enabled: false, disabledReason })
  await failDeliveries(tx, webhookId, `The webhook was disabled: ${disabledReason}`)
}

/** Deletes a webhook with its deliveries. @throws Problem WEBHOOK_NOT_FOUND */
export async function remove(tx: Transaction, ref: WebhookRef): Promise<void> {
  await deleteWebhook(tx, (await find(tx, ref)).id)
}

function refuse(code: ConstructorParameters<typeof Problem>[0]): never { throw new Problem(code) }
