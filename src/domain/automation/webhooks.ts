import { Problem, refuse } from '../../contract/errors.ts'
import type { Caller } from '../accounts/caller.ts'
import { requireEventAccess } from '../accounts/eventAudience.ts'
import { makerFor } from '../accounts/makers.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { deleteDeliveries, failDeliveries, readDelivery, type DeliveryRow } from '../../store/automation/deliveries.ts'
import {
  countWebhooks,
  deleteWebhook,
  insertWebhook,
  listWebhooks,
  readWebhook,
  updateWebhook,
  type WebhookRow,
} from '../../store/automation/webhooks.ts'

const maxWebhooks = 50
const maxBatch = 500

export interface WebhookRef {
  projectId: number
  webhookId: number
}
export interface WebhookChange {
  url?: string
  events?: readonly string[]
  enabled?: boolean
  description?: string | null
}

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
  if (!webhook.enabled) throw new Problem('CONFLICT', 'The webhook is disabled. Enable it first.')
  return webhook
}

/** @throws Problem WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND */
export async function findDelivery(db: Reader, ref: WebhookRef, deliveryId: number): Promise<DeliveryRow> {
  const { id } = await find(db, ref)
  return (await readDelivery(db, id, deliveryId)) ?? refuse('DELIVERY_NOT_FOUND')
}

/**
 * Adds a webhook of the caller, without a secret yet. The target is already validated.
 * @throws Problem CONFLICT if the project has 50, INSUFFICIENT_PERMISSIONS if the caller cannot read its events
 */
export async function create(
  tx: Transaction,
  caller: Caller,
  projectId: number,
  {
    url,
    events,
    enabled,
    description,
  }: { url: string; events: readonly string[]; enabled: boolean; description: string | null },
): Promise<WebhookRow> {
  requireEventAccess(caller, events)
  if ((await countWebhooks(tx, projectId)) >= maxWebhooks)
    throw new Problem('CONFLICT', `A project can have at most ${maxWebhooks} webhooks.`)
  const webhookId = await insertWebhook(tx, {
    projectId,
    url,
    events: JSON.stringify(events),
    enabled,
    description,
    ...(await makerFor(tx, caller)),
  })
  return find(tx, { projectId, webhookId })
}

/**
 * Changes a webhook. A new target is already validated. A caller who changes its target or events, or enables it, becomes its
 * owner. Disabling it fails its pending deliveries, the first 500 at once.
 * @throws Problem WEBHOOK_NOT_FOUND, INSUFFICIENT_PERMISSIONS if a new owner cannot read its events
 */
export async function update(
  tx: Transaction,
  caller: Caller,
  ref: WebhookRef,
  change: WebhookChange,
): Promise<WebhookRow> {
  const webhook = await find(tx, ref)
  if (Object.values(change).every(value => value === undefined)) return webhook
  const url = change.url ?? webhook.url
  const events = change.events ? JSON.stringify(change.events) : webhook.events
  const enabled = change.enabled ?? webhook.enabled === 1
  const isTakenOver = url !== webhook.url || events !== webhook.events || (enabled && !webhook.enabled)
  if (isTakenOver) requireEventAccess(caller, JSON.parse(events) as string[])
  await updateWebhook(tx, webhook.id, {
    ...(isTakenOver ? await makerFor(tx, caller) : {}),
    url,
    events,
    enabled,
    description: change.description === undefined ? webhook.description : change.description,
    disabledReason: enabled ? null : webhook.disabledReason,
  })
  if (!enabled) await giveUpSome(tx, webhook.id)
  return find(tx, ref)
}

/** Disables a webhook automatically. `disabledReason` states the reason. Its pending deliveries fail, the first 500 at once. */
export async function disable(tx: Transaction, webhookId: number, disabledReason: string | null): Promise<void> {
  const webhook = await readWebhook(tx, webhookId)
  if (!webhook?.enabled) return
  await updateWebhook(tx, webhookId, { enabled: false, disabledReason })
  await giveUpSome(tx, webhookId)
}

/** Fails up to 500 pending deliveries of a disabled webhook. @returns whether there might be more */
export async function giveUpSome(tx: Transaction, webhookId: number): Promise<boolean> {
  const webhook = await readWebhook(tx, webhookId)
  if (!webhook || webhook.enabled) return false
  const error =
    webhook.disabledReason === null
      ? 'The webhook was disabled.'
      : `The webhook was disabled: ${webhook.disabledReason}`
  return (await failDeliveries(tx, webhookId, error, maxBatch)) === maxBatch
}

/** Deletes up to 500 of a webhook's deliveries. @returns whether there might be more. @throws Problem WEBHOOK_NOT_FOUND */
export async function clearSome(tx: Transaction, ref: WebhookRef): Promise<boolean> {
  return (await deleteDeliveries(tx, (await find(tx, ref)).id, maxBatch)) === maxBatch
}

/** Deletes a webhook with its deliveries. @throws Problem WEBHOOK_NOT_FOUND */
export async function remove(tx: Transaction, ref: WebhookRef): Promise<void> {
  await deleteWebhook(tx, (await find(tx, ref)).id)
}
