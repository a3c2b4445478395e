import type { Transaction } from '../store/database.ts'
import { insertDelivery, type DeliveryRow } from '../store/deliveries.ts'
import { bodyOf, newMessageId, type WebhookMessage } from './messages.ts'
import type { Sender } from './sender.ts'

type Message = Pick<DeliveryRow, 'messageId' | 'type' | 'body'>

/** Puts messages where the sender finds them; it is woken after the commit. */
export interface Queue {
  /** A new message. `asked`: a person waits for it. Returns its delivery's id. */
  tell(tx: Transaction, webhookId: number, told: WebhookMessage, asked?: boolean): Promise<number>
  /** A message once more that a person asked for. Returns the new delivery's id. */
  repeat(tx: Transaction, webhookId: number, message: Message): Promise<number>
  wakeAfter(tx: Transaction, webhookId: number): void
}

export function createQueue(sender: Pick<Sender, 'wake'>): Queue {
  const wakeAfter = (tx: Transaction, webhookId: number) => tx.afterCommit(() => sender.wake(webhookId))
  const add = async (tx: Transaction, webhookId: number, { messageId, type, body }: Message, asked: boolean) => {
    const id = await insertDelivery(tx, { webhookId, messageId, type, body, asked })
    wakeAfter(tx, webhookId)
    return id
  }
  return {
    tell: (tx, webhookId, told, asked = false) =>
      add(tx, webhookId, { messageId: newMessageId(), type: told.type, body: bodyOf(told) }, asked),
    repeat: (tx, webhookId, message) => add(tx, webhookId, message, true),
    wakeAfter,
  }
}
