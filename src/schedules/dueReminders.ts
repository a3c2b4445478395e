import type { Clock } from '../async/clock.ts'
import { shownTime } from '../domain/cards/shownTime.ts'
import { deliver } from '../notifications/deliver.ts'
import { listDueReminders, readNextReminder, setNextReminder, type CardToRemind } from '../store/cards/cardTimes.ts'
import { readCard } from '../store/cards/cards.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { watchingOf } from '../views/cards.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { TimedWork } from '../daemons/timer.ts'

const pageSize = 100
/** Cards that have been due for longer trigger no reminder: they came with an import, or the server was down. */
const maxPastMs = 86_400_000

interface ReminderDependencies {
  db: Database
  webhooks: Pick<Webhooks, 'queueUserDelivery'>
  clock: Clock
}

/** Reminds the watchers of a card, including its assignees, a day before it is due, and when it is overdue. */
export const dueReminders = ({ db, webhooks, clock }: ReminderDependencies): TimedWork => ({
  duty: 'board',
  nextAt: () => readNextReminder(db),
  runDue: async () => {
    for (let count = pageSize; count === pageSize;) {
      const now = clock().toISOString()
      count = (await listDueReminders(db, now, pageSize)).length
      // The reminders are read again in the transaction, because another daemon might have sent them.
      if (count > 0)
        await db.transaction(async tx => {
          for (const card of await listDueReminders(tx, tx.now, pageSize)) await notifyDue(tx, webhooks, card)
        })
    }
  },
})

async function notifyDue(
  tx: Transaction,
  webhooks: Pick<Webhooks, 'queueUserDelivery'>,
  { id, projectId, dueAt, isOpen }: CardToRemind,
): Promise<void> {
  const isPast = dueAt <= tx.now
  setNextReminder(tx, id, isPast ? null : dueAt)
  if (isOpen === 0 || Date.parse(tx.now) - Date.parse(dueAt) > maxPastMs) return
  const card = (await readCard(tx, projectId, id))!
  const message = isPast ? `The card was due at ${shownTime(dueAt)}.` : `The card is due at ${shownTime(dueAt)}.`
  const notification = { kind: 'due', projectId, cardId: id, cardTitle: card.title, message, at: tx.now } as const
  await deliver(tx, webhooks, notification, watchingOf(card).watching)
}
