import { logFailure, type Log } from '../config/log.ts'
import type { Outbox } from '../events/outbox.ts'
import { startConsumer, type ConsumerHandle } from '../events/consumer.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { readEventsOfTypes, type StoredEvent } from '../store/server/events.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { deliver } from './deliver.ts'
import { createDrafts, notifyingEventTypes } from './notificationDraft.ts'

interface NotifierDependencies {
  db: Database
  outbox: Outbox
  webhooks: Pick<Webhooks, 'queueUserDelivery'>
}

/** Sends notifications to people: over their sockets and to their webhooks. */
export interface Notifier {
  start(log: Log): void
  stop(): Promise<void>
}

export function createNotifier({ db, outbox, webhooks }: NotifierDependencies): Notifier {
  let reader: ConsumerHandle | undefined
  const take = async (tx: Transaction, events: StoredEvent[]) => {
    for (const event of events) await notify(tx, event)
  }
  const notify = async (tx: Transaction, event: StoredEvent) => {
    for (const { to, watching, ...news } of await createDrafts(tx, event))
      await deliver(tx, webhooks, news, to ?? watching)
  }
  return {
    start: log => {
      const onFailure = (error: unknown) => logFailure(log, 'Notifications could not be created.', error)
      reader = startConsumer(
        { db, outbox },
        'notifications',
        { find: (from, seq, limit) => readEventsOfTypes(from, notifyingEventTypes, seq, limit), take },
        onFailure,
      )
    },
    stop: async () => {
      await reader?.stop()
    },
  }
}
