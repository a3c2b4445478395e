import type { NotificationKind } from '../contract/automation/notifications.ts'
import { recipientsOf } from '../domain/automation/notifications.ts'
import { appendEvent } from '../events/outbox.ts'
import type { Transaction } from '../store/engine/database.ts'
import type { Watching } from '../views/cards.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

/** The content of a notification. `cardTitle` names its subject, even if that is not a card. */
export interface Notification {
  kind: NotificationKind
  projectId: number
  cardId: number | null
  cardTitle: string
  message: string
  at: string
  budgetId?: number
}

/** Notifies the interested accounts, over their sockets and by their webhooks. */
export async function deliver(
  tx: Transaction,
  webhooks: Pick<Webhooks, 'queueUserDelivery'>,
  { budgetId, ...notification }: Notification,
  to: readonly number[] | Watching,
): Promise<void> {
  for (const { userId, desktop, sound } of await recipientsOf(tx, { ...notification, budgetId }, to)) {
    const data = {
      ...notification,
      userId: String(userId),
      projectId: String(notification.projectId),
      cardId: notification.cardId === null ? null : String(notification.cardId),
      desktop,
      sound,
    }
    await appendEvent(tx, 'notification', null, data)
    await webhooks.queueUserDelivery(tx, userId, 'notification', data)
  }
}
