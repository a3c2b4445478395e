import { randomBytes } from 'node:crypto'
import type { Seal } from '../identity/seal.ts'
import type { Transaction } from '../store/engine/database.ts'
import { setWebhookSecret } from '../store/automation/webhooks.ts'

const secretBytes = 32

const placeOf = (webhookId: number) => `webhooks/${webhookId}/secret`

/** Creates a new secret for a webhook, `whsec_` and 32 random bytes in base64, and returns it. It is shown only once. */
export async function giveSecret(seal: Seal, tx: Transaction, webhookId: number): Promise<string> {
  const secret = `whsec_${randomBytes(secretBytes).toString('base64')}`
  await setWebhookSecret(tx, webhookId, seal.seal(placeOf(webhookId), secret))
  return secret
}

/** @throws Problem SEALED_WITH_OTHER_KEY */
export const openSecret = (seal: Seal, { webhookId, secret }: { webhookId: number; secret: string }): string =>
  seal.open(placeOf(webhookId), secret)
