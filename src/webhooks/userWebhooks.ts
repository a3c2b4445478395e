import type { Seal } from '../identity/seal.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { deleteWebhook, insertWebhook, readUserWebhook } from '../store/automation/webhooks.ts'
import type { Queue } from './queue.ts'
import { giveSecret } from './secrets.ts'

/** The webhooks that accounts have for their own notifications. */
export interface UserWebhooks {
  /** The URL that an account's notifications go to; null when there is none or the receiver has answered 410 Gone. */
  userUrl(db: Reader, userId: number): Promise<string | null>
  /**
   * Sets or, with null, removes the URL of an account's notifications; `requireTarget` must have accepted the URL. A changed URL gets a new
   * secret, which is returned to be shown once.
   */
  setUserUrl(tx: Transaction, userId: number, url: string | null): Promise<string | undefined>
  /** Queues a message with this `data` for the account's webhook, if it has one. */
  queueUserDelivery(tx: Transaction, userId: number, type: string, data: object): Promise<void>
}

export function createUserWebhooks({ seal, queue }: { seal: Seal; queue: Queue }): UserWebhooks {
  const find = async (db: Reader, userId: number) => {
    const webhook = await readUserWebhook(db, userId)
    return webhook?.enabled ? webhook : undefined
  }
  return {
    userUrl: async (db, userId) => (await find(db, userId))?.url ?? null,
    setUserUrl: async (tx, userId, url) => {
      if (((await find(tx, userId))?.url ?? null) === url) return undefined
      const before = await readUserWebhook(tx, userId)
      if (before) await deleteWebhook(tx, before.id)
      return url === null ? undefined : giveSecret(seal, tx, await insertWebhook(tx, { userId, url }))
    },
    queueUserDelivery: async (tx, userId, type, data) => {
      const webhook = await find(tx, userId)
      if (webhook) await queue.enqueue(tx, webhook.id, { type, timestamp: tx.now, data: JSON.stringify(data) })
    },
  }
}
