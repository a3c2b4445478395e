import type { Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import * as rules from '../domain/webhooks.ts'
import type { Outbox } from '../events/outbox.ts'
import { startReader, type EventReader } from '../events/reader.ts'
import type { Seal } from '../identity/seal.ts'
import type { Targets } from '../outside/targets.ts'
import type { Database, Reader, Transaction } from '../store/database.ts'
import { hastenDelivery, insertDelivery, type DeliveryRow } from '../store/deliveries.ts'
import { readEventsForWebhooks, type StoredEvent } from '../store/events.ts'
import { deleteWebhook, insertWebhook, readUserWebhook, webhooksFor, type WebhookRow } from '../store/webhooks.ts'
import { bodyOf, newMessageId } from './messages.ts'
import { giveSecret } from './secrets.ts'
import { createSender } from './sender.ts'

type NewWebhook = Parameters<typeof rules.create>[2]
/** A webhook with its secret, for the one answer that shows it. */
export interface Shown { webhook: WebhookRow; secret: string }

/** Tells receivers, signed and at least once, what happens in projects and what accounts are notified of. */
export interface Webhooks {
  /** Begins to take events and to send. */
  start(log: Log): void
  stop(): Promise<void>
  /** Sends what is due again: the timetable calls it every second. */
  sendDue(): Promise<void>
  /** @throws Problem WEBHOOK_TARGET_REFUSED */
  requireTarget(url: string): Promise<void>
  create(tx: Transaction, projectId: number, webhook: NewWebhook): Promise<Shown>
  update(tx: Transaction, ref: rules.WebhookRef, change: rules.WebhookChange): Promise<WebhookRow>
  rotate(tx: Transaction, ref: rules.WebhookRef): Promise<Shown>
  /** Queues a `webhook.test` message, which goes before all others. */
  test(tx: Transaction, ref: rules.WebhookRef): Promise<DeliveryRow>
  /** Sends a message once more, with the same webhook-id: a delivery that has ended gets a new one beside it. */
  redeliver(tx: Transaction, ref: rules.WebhookRef, deliveryId: number): Promise<DeliveryRow>
  /** Where an account's notifications go; null for nowhere, also after the receiver has answered 410 Gone. */
  userUrl(db: Reader, userId: number): Promise<string | null>
  /**
   * Sends an account's notifications to a URL that requireTarget has let pass, or nowhere. Another URL than before gets a new
   * secret, which is returned to be shown once.
   */
  setUserUrl(tx: Transaction, userId: number, url: string | null): Promise<string | undefined>
  /** Queues a message to where the account's notifications go; nothing when they go nowhere. `data` becomes the message's data. */
  queueUserDelivery(tx: Transaction, userId: number, type: string, data: object): Promise<void>
}

export function createWebhooks({ db, outbox, seal, config, targets }: { db: Database; outbox: Outbox; seal: Seal; config: ServerConfig; targets: Targets }): Webhooks {
  let log: Log = () => { /* Nobody listens before the start. */ }
  let reader: EventReader | undefined
  const told = (message: string) => (error: unknown) => log('error', message, { cause: error instanceof Error ? error.stack : String(error) })
  const sender = createSender({ db, seal, config, targets, onFailure: told('A webhook could not be attended to.') })

  const queue = async (tx: Transaction, webhookId: number, message: Pick<DeliveryRow, 'messageId' | 'type' | 'body'> & { asked?: boolean }) => {
    const id = await insertDelivery(tx, { webhookId, ...message })
    tx.afterCommit(() => sender.wake([webhookId]))
    return id
  }
  const take = async (tx: Transaction, events: StoredEvent[]) => {
    for (const { seq, projectId, type, data, at } of events) {
      const body = bodyOf({ type, timestamp: at, projectId: projectId!, seq, data })
      for (const { id } of await webhooksFor(tx, projectId!, type)) await queue(tx, id, { messageId: newMessageId(), type, body })
    }
  }
  /** Whatever happened before a change of webhooks is theirs as they were. */
  const catchUp = async (tx: Transaction) => reader?.catchUp(tx)

  return {
    start: to => {
      log = to
      reader = startReader({ db, outbox }, 'webhooks', { find: readEventsForWebhooks, take }, told('Events could not be queued for webhooks.'))
    },
    stop: async () => {
      await reader?.stop()
      await sender.stop()
    },
    sendDue: () => sender.wakeDue(),
    requireTarget: url => targets.requireAllowed(url),
    create: async (tx, projectId, input) => {
      await catchUp(tx)
      const { id } = await rules.create(tx, projectId, input)
      const secret = await giveSecret(seal, tx, id)
      return { webhook: await rules.find(tx, { projectId, webhookId: id }), secret }
    },
    update: async (tx, ref, change) => {
      await catchUp(tx)
      return rules.update(tx, ref, change)
    },
    rotate: async (tx, ref) => {
      const { id } = await rules.find(tx, ref)
      const secret = await giveSecret(seal, tx, id)
      return { webhook: await rules.find(tx, ref), secret }
    },
    test: async (tx, ref) => {
      const { id } = await rules.findEnabled(tx, ref)
      const type = 'webhook.test'
      const body = bodyOf({ type, timestamp: tx.now, projectId: ref.projectId, data: JSON.stringify({ webhookId: String(id) }) })
      return rules.findDelivery(tx, ref, await queue(tx, id, { messageId: newMessageId(), type, body, asked: true }))
    },
    redeliver: async (tx, ref, deliveryId) => {
      const before = await rules.findDelivery(tx, ref, deliveryId)
      const { id } = await rules.findEnabled(tx, ref)
      if (before.status !== 'pending') return rules.findDelivery(tx, ref, await queue(tx, id, { messageId: before.messageId, type: before.type, body: before.body, asked: true }))
      await hastenDelivery(tx, before.id)
      tx.afterCommit(() => sender.wake([id]))
      return rules.findDelivery(tx, ref, before.id)
    },
    userUrl: async (reading, userId) => {
      const webhook = await readUserWebhook(reading, userId)
      return webhook?.enabled ? webhook.url : null
    },
    setUserUrl: async (tx, userId, url) => {
      const before = await readUserWebhook(tx, userId)
      if ((before?.enabled ? before.url : null) === url) return undefined
      if (before) await deleteWebhook(tx, before.id)
      return url === null ? undefined : giveSecret(seal, tx, await insertWebhook(tx, { userId, url }))
    },
    queueUserDelivery: async (tx, userId, type, data) => {
      const webhook = await readUserWebhook(tx, userId)
      if (webhook?.enabled) await queue(tx, webhook.id, { messageId: newMessageId(), type, body: bodyOf({ type, timestamp: tx.now, data: JSON.stringify(data) }) })
    },
  }
}
