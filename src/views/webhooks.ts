import type { InferOutput } from 'valibot'
import type { Delivery, Webhook, WebhookWithSecret } from '../contract/webhooks.ts'
import type { DeliveryRow } from '../store/deliveries.ts'
import { localOperator } from '../store/users.ts'
import type { WebhookRow } from '../store/webhooks.ts'

/** A project's webhook without anything of its secret. */
export const webhook = (row: WebhookRow): InferOutput<typeof Webhook> => ({
  id: String(row.id),
  projectId: String(row.projectId),
  url: row.url,
  events: JSON.parse(row.events),
  enabled: row.enabled === 1,
  description: row.description,
  disabledReason: row.disabledReason,
  createdBy:
    row.makerUserId === null
      ? null
      : {
          userId: String(row.makerUserId),
          displayName: row.makerUserId === localOperator ? 'Local operator' : row.makerName,
          keyId: row.makerKeyId === null ? null : String(row.makerKeyId),
          keyName: row.makerKeyName,
        },
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** A webhook with its secret, for the one answer that shows it. */
export const webhookWithSecret = ({
  webhook: row,
  secret,
}: {
  webhook: WebhookRow
  secret: string
}): InferOutput<typeof WebhookWithSecret> => ({ ...webhook(row), secret })

export const delivery = (row: DeliveryRow): InferOutput<typeof Delivery> => ({
  id: String(row.id),
  webhookId: String(row.webhookId),
  messageId: row.messageId,
  type: row.type,
  status: row.status,
  attempts: row.attempts,
  nextAttemptAt: row.nextAttemptAt,
  request: { url: row.url, body: row.body },
  responseStatus: row.responseStatus,
  responseBody: row.responseBody,
  error: row.error,
  durationMs: row.durationMs,
  createdAt: row.createdAt,
  lastAttemptAt: row.lastAttemptAt,
  finishedAt: row.finishedAt,
})
