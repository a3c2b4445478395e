import type { InferOutput } from 'valibot'
import { Webhook, type Delivery, type WebhookWithSecret } from '../contract/automation/webhooks.ts'
import type { DeliveryRow } from '../store/automation/deliveries.ts'
import { webhookFields, type WebhookRow } from '../store/automation/webhooks.ts'
import { maker } from './makers.ts'
import { viewOf } from './view.ts'

/** A project's webhook without any part of its secret. */
export const webhook: (row: WebhookRow) => InferOutput<typeof Webhook> = viewOf(
  webhookFields,
  Webhook,
  'text',
  (row: WebhookRow) => ({
    projectId: String(row.projectId),
    createdBy: maker(row),
  }),
)

/** A webhook with its secret, for the only response that shows it. */
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
