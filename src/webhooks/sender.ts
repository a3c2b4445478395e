import { disable } from '../domain/webhooks.ts'
import type { Database } from '../store/database.ts'
import { nextDelivery, recordAttempt, webhooksWithDueDeliveries, type DueDelivery } from '../store/deliveries.ts'
import { attempt, isGone, type AttemptParts } from './attempt.ts'
import { createSlots } from './slots.ts'

const mostAtOnce = 64
const lastAttemptsMs = 5000

/** Attempts deliveries: those of one webhook one after another, so that a slow receiver delays nobody else. */
export interface Sender {
  /** Looks what there is to send to a webhook. */
  wake(webhookId: number): void
  /** Looks for everything that is due. */
  wakeDue(): Promise<void>
  /** Begins nothing more and waits 5 s for attempts that are on their way; what is cut short then is sent again at the next start. */
  stop(): Promise<void>
}

export function createSender(parts: AttemptParts & { db: Database }): Sender {
  const { db, config, onFailure } = parts
  const inSlot = createSlots(mostAtOnce)
  /** What is on its way for a webhook; whether there may be more since it looked. */
  const lanes = new Map<number, { over: Promise<void>; again: boolean }>()
  const stopping = new Set<AbortController>()
  let stopped = false

  const sendAll = async (webhookId: number) => {
    for (let due: DueDelivery | undefined; !stopped && (due = await nextDelivery(db, webhookId, config.clock().toISOString()));) {
      const delivery = due
      await inSlot(() => send(delivery))
    }
  }
  const send = async (delivery: DueDelivery) => {
    if (stopped) return
    const controller = new AbortController()
    stopping.add(controller)
    const outcome = await attempt(parts, delivery, controller.signal).finally(() => stopping.delete(controller))
    if (!outcome) return
    await db.transaction(async tx => {
      if (await recordAttempt(tx, delivery.id, outcome) && isGone(outcome)) await disable(tx, delivery.webhookId, 'The receiver answered 410 Gone.')
    })
  }
  const wake = (webhookId: number) => {
    const lane = lanes.get(webhookId)
    if (lane) lane.again = true
    if (lane || stopped) return
    const over = sendAll(webhookId).catch(onFailure).then(() => {
      const again = lanes.get(webhookId)!.again
      lanes.delete(webhookId)
      if (again) wake(webhookId)
    })
    lanes.set(webhookId, { over, again: false })
  }
  return {
    wake,
    wakeDue: async () => { for (const webhookId of await webhooksWithDueDeliveries(db, config.clock().toISOString())) wake(webhookId) },
    stop: async () => {
      stopped = true
      const force = setTimeout(() => { for (const controller of stopping) controller.abort() }, lastAttemptsMs)
      await Promise.all([...lanes.values()].map(({ over }) => over))
      clearTimeout(force)
    },
  }
}
