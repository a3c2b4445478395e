import type { Transaction } from '../store/engine/database.ts'
import { insertDelivery, type DeliveryRow } from '../store/automation/deliveries.ts'
import { bodyOf, newMessageId, type WebhookMessage } from './messages.ts'
import type { Sender } from './sender.ts'

type Message = Pick<DeliveryRow, 'messageId' | 'type' | 'body'>

/** Queues messages as deliveries and wakes the sender after the commit. */
export interface Queue {
  /** Queues a new message. `requested`: a person waits for it. Returns its delivery's ID. */
  enqueue(tx: Transaction, webhookId: number, message: WebhookMessage, requested?: boolean): Promise<number>
  /** Queues a message once more because a person asked for it. Returns the new delivery's ID. */
  repeat(tx: Transaction, webhookId: number, message: Message): Promise<number>
  wakeAfter(tx: Transaction, webhookId: number): void
}

export function createQueue(sender: Pick<Sender, 'wake'>): Queue {
  const wakeAfter = (tx: Transaction, webhookId: number) => tx.afterCommit(() => sender.wake(webhookId))
  const add = async (tx: Transaction, webhookId: number, { messageId, type, body }: Message, requested: boolean) => {
    const id = await insertDelivery(tx, { webhookId, messageId, type, body, requested })
    wakeAfter(tx, webhookId)
    return id
  }
  return {
    enqueue: (tx, webhookId, message, requested = false) =>
      add(tx, webhookId, { messageId: newMessageId(), type: message.type, body: bodyOf(message) }, requested),
    repeat: (tx, webhookId, message) => add(tx, webhookId, message, true),
    wakeAfter,
  }
}
