import type { Seal } from '../identity/seal.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { deleteWebhook, insertWebhook, readUserWebhook } from '../store/webhooks.ts'
import type { Queue } from './queue.ts'
import { giveSecret } from './secrets.ts'

/** Where accounts have their notifications sent to. */
export interface UserWebhooks {
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
      if (webhook) await queue.tell(tx, webhook.id, { type, timestamp: tx.now, data: JSON.stringify(data) })
    },
  }
}
