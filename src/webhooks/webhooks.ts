import { createClockJumpCheck } from '../async/clockJump.ts'
import { logFailure, type Log } from '../config/log.ts'
import type { ServerConfig } from '../config/server.ts'
import { giveUpSome } from '../domain/automation/webhooks.ts'
import type { Outbox } from '../events/outbox.ts'
import { startConsumer, type ConsumerHandle } from '../events/consumer.ts'
import type { Seal } from '../identity/seal.ts'
import type { EgressPolicy } from '../egress/egressPolicy.ts'
import type { Database, Transaction } from '../store/engine/database.ts'
import { disabledWithDeliveries, hastenAttemptedLater } from '../store/automation/deliveries.ts'
import { readEventsForWebhooks, type StoredEvent } from '../store/server/events.ts'
import { webhooksFor } from '../store/automation/webhooks.ts'
import { createProjectWebhooks, type ProjectWebhooks } from './projectWebhooks.ts'
import { createQueue } from './queue.ts'
import { createSender } from './sender.ts'
import { createUserWebhooks, type UserWebhooks } from './userWebhooks.ts'

interface WebhookDependencies {
  db: Database
  outbox: Outbox
  seal: Seal
  config: ServerConfig
  egress: EgressPolicy
}

/** Sends receivers, signed and at least once, the events of projects and the notifications of accounts. */
export interface Webhooks extends ProjectWebhooks, UserWebhooks {
  /** Starts to receive events and to send. */
  start(log: Log): void
  stop(): Promise<void>
  /**
   * Sends the deliveries that are due again, and fails the pending ones of disabled webhooks. The timetable calls this every
   * second.
   */
  sendDue(): Promise<void>
  /** @throws Problem WEBHOOK_TARGET_REFUSED */
  requireTarget(url: string): Promise<void>
}

export function createWebhooks({ db, outbox, seal, config, egress }: WebhookDependencies): Webhooks {
  let log: Log = () => {
    /* There are no listeners before the start. */
  }
  let reader: ConsumerHandle | undefined
  const failureLogger = (message: string) => (error: unknown) => logFailure(log, message, error)
  const sender = createSender({
    db,
    seal,
    config,
    egress,
    onFailure: failureLogger('A webhook could not be processed.'),
  })
  const queue = createQueue(sender)
  const checkClock = createClockJumpCheck(config, () => db.transaction(hastenAttemptedLater), false)
  const take = async (tx: Transaction, events: StoredEvent[]) => {
    for (const { seq, projectId, type, data, at } of events) {
      for (const { id } of await webhooksFor(tx, projectId!, type))
        await queue.enqueue(tx, id, { type, timestamp: at, projectId: projectId!, seq, data })
    }
  }
  return {
    ...createProjectWebhooks({ db, seal, queue }, async tx => {
      await reader?.catchUp(tx)
    }),
    ...createUserWebhooks({ seal, queue }),
    start: to => {
      log = to
      reader = startConsumer(
        { db, outbox },
        'webhooks',
        { find: readEventsForWebhooks, take },
        failureLogger('Events could not be queued for webhooks.'),
      )
    },
    stop: async () => {
      await reader?.stop()
      await sender.stop()
    },
    sendDue: async () => {
      await checkClock()
      await sender.wakeDue()
      for (const webhookId of await disabledWithDeliveries(db))
        while (await db.transaction(tx => giveUpSome(tx, webhookId)));
    },
    requireTarget: url => egress.requireAllowed(url),
  }
}
