import { setTimeout as delay } from 'node:timers/promises'
import { disable } from '../domain/automation/webhooks.ts'
import { coalesce } from '../async/coalesce.ts'
import { createSemaphore } from '../async/semaphore.ts'
import type { Database } from '../store/engine/database.ts'
import {
  nextDelivery,
  recordAttempt,
  webhooksWithDueDeliveries,
  type DueDelivery,
} from '../store/automation/deliveries.ts'
import { writeWithRetry } from '../store/engine/retry.ts'
import { attemptDelivery, isGone, type AttemptDependencies } from './attempt.ts'
import { disableForMaker, whyNotSent } from './makers.ts'

const maxConcurrent = 128
const lastAttemptsMs = 5000
const maxStopMs = 7000

/** Attempts deliveries: those of one webhook one after another, so that a slow receiver does not delay other receivers. */
export interface Sender {
  /** Checks for deliveries to a webhook. */
  wake(webhookId: number): void
  /** Checks for all due deliveries. */
  wakeDue(): Promise<void>
  /** Starts no more attempts and waits 5 s for those in progress. Attempts that are cut short are repeated at the next start. */
  stop(): Promise<void>
}

export function createSender(dependencies: AttemptDependencies & { db: Database }): Sender {
  const { db, config, onFailure } = dependencies
  const now = () => config.clock().toISOString()
  const post = createPost(dependencies)
  /** By webhook: the function that sends the due deliveries, and its last call. */
  const lanes = new Map<number, { send: () => Promise<void>; sent: Promise<void> }>()
  const sendAll = async (webhookId: number) => {
    for (let due: DueDelivery | undefined; !post.isStopped() && (due = await nextDelivery(db, webhookId, now()));)
      await post.send(due)
  }
  const wake = (webhookId: number) => {
    if (post.isStopped()) return
    const send = lanes.get(webhookId)?.send ?? coalesce(() => sendAll(webhookId).catch(onFailure))
    const sent = send()
    lanes.set(webhookId, { send, sent })
    void sent.then(() => {
      if (lanes.get(webhookId)?.sent === sent) lanes.delete(webhookId)
    })
  }
  return {
    wake,
    wakeDue: async () => {
      for (const webhookId of await webhooksWithDueDeliveries(db, now())) wake(webhookId)
    },
    stop: () => post.stop([...lanes.values()].map(({ sent }) => sent)),
  }
}

/** Sends one delivery and records the result: at most 128 at once, until it is stopped. */
function createPost({ db, ...dependencies }: AttemptDependencies & { db: Database }) {
  const withSlot = createSemaphore(maxConcurrent)
  const onTheirWay = new Set<AbortController>()
  let stopped = false
  const send = async (delivery: DueDelivery) => {
    if (stopped) return
    if ((await whyNotSent(db, delivery, [delivery.type], dependencies.config.clock().toISOString())) !== undefined)
      return db.transaction(tx => disableForMaker(tx, delivery.webhookId, [delivery.type]))
    const controller = new AbortController()
    onTheirWay.add(controller)
    const outcome = await attemptDelivery(dependencies, delivery, controller.signal).finally(() =>
      onTheirWay.delete(controller),
    )
    // A sent message must not be sent again because the disk was full for a while.
    if (outcome)
      await writeWithRetry(
        db,
        async tx => {
          if ((await recordAttempt(tx, delivery.id, outcome)) && isGone(outcome))
            await disable(tx, delivery.webhookId, 'The receiver answered 410 Gone.')
        },
        () => {
          /* Every request reports the error. */
        },
      )
  }
  return {
    send: (delivery: DueDelivery): Promise<void> => withSlot(() => send(delivery)),
    isStopped: () => stopped,
    stop: async (sending: ReadonlyArray<Promise<void>>): Promise<void> => {
      stopped = true
      const force = setTimeout(() => {
        for (const controller of onTheirWay) controller.abort()
      }, lastAttemptsMs)
      await Promise.race([Promise.all(sending), delay(maxStopMs, undefined, { ref: false })])
      clearTimeout(force)
    },
  }
}
