import type { Caller } from '../domain/accounts/caller.ts'
import * as rules from '../domain/automation/webhooks.ts'
import type { Seal } from '../identity/seal.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { hastenDelivery, type DeliveryRow } from '../store/automation/deliveries.ts'
import type { WebhookRow } from '../store/automation/webhooks.ts'
import { disableForMaker } from './makers.ts'
import type { Queue } from './queue.ts'
import { giveSecret } from './secrets.ts'

/** A webhook with its secret, for the only response that shows it. */
interface Shown {
  webhook: WebhookRow
  secret: string
}
type NewWebhook = Parameters<typeof rules.create>[3]

/** The operations of users on a project's webhooks. All throw Problem WEBHOOK_NOT_FOUND, and the errors of the rules. */
export interface ProjectWebhooks {
  create(tx: Transaction, caller: Caller, projectId: number, webhook: NewWebhook): Promise<Shown>
  update(tx: Transaction, caller: Caller, ref: rules.WebhookRef, change: rules.WebhookChange): Promise<WebhookRow>
  /**
   * Deletes a webhook with its deliveries, in several transactions, because deleting thousands in one would block all writers.
   */
  remove(ref: rules.WebhookRef): Promise<void>
  rotate(tx: Transaction, ref: rules.WebhookRef): Promise<Shown>
  /** Queues a `webhook.test` message, which precedes all others. */
  test(tx: Transaction, ref: rules.WebhookRef): Promise<DeliveryRow>
  /** Sends a message again, with the same webhook-id. If the delivery has ended, a new one is added. */
  redeliver(tx: Transaction, ref: rules.WebhookRef, deliveryId: number): Promise<DeliveryRow>
}

/** @param catchUp processes the events before a change of webhooks, which belong to the earlier webhooks */
export function createProjectWebhooks(
  { db, seal, queue }: { db: Database; seal: Seal; queue: Queue },
  catchUp: (tx: Transaction) => Promise<void>,
): ProjectWebhooks {
  const rotateSecret = async (tx: Transaction, ref: rules.WebhookRef): Promise<Shown> => {
    await rules.find(tx, ref)
    const secret = await giveSecret(seal, tx, ref.webhookId)
    return { webhook: await rules.find(tx, ref), secret }
  }
  return {
    create: async (tx, caller, projectId, input) => {
      await catchUp(tx)
      const { id: webhookId } = await rules.create(tx, caller, projectId, input)
      return rotateSecret(tx, { projectId, webhookId })
    },
    update: async (tx, caller, ref, change) => {
      await catchUp(tx)
      await rules.find(tx, ref)
      // If the owner of a webhook was deleted, the caller who enables it becomes its owner, even if nothing has been sent
      // since.
      await disableForMaker(tx, ref.webhookId)
      return rules.update(tx, caller, ref, change)
    },
    remove: async ref => {
      await db.transaction(async tx => rules.disable(tx, (await rules.find(tx, ref)).id, null))
      while (await db.transaction(tx => rules.clearSome(tx, ref)));
      await db.transaction(tx => rules.remove(tx, ref))
    },
    rotate: rotateSecret,
    test: async (tx, ref) => {
      const { id } = await rules.findEnabled(tx, ref)
      const message = {
        type: 'webhook.test',
        timestamp: tx.now,
        projectId: ref.projectId,
        data: JSON.stringify({ webhookId: String(id) }),
      }
      return rules.findDelivery(tx, ref, await queue.enqueue(tx, id, message, true))
    },
    redeliver: async (tx, ref, deliveryId) => {
      const before = await rules.findDelivery(tx, ref, deliveryId)
      const { id } = await rules.findEnabled(tx, ref)
      if (before.status !== 'pending') return rules.findDelivery(tx, ref, await queue.repeat(tx, id, before))
      await hastenDelivery(tx, before.id)
      queue.wakeAfter(tx, id)
      return rules.findDelivery(tx, ref, before.id)
    },
  }
}
