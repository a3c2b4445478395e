import * as v from 'valibot'
import { events, type EventType } from '../server/events.ts'
import { Count, Id, limit, queryInteger, text, Time, WebhookUrl } from '../fields.ts'
import { Maker } from '../makers.ts'
import { ofProject } from '../notFound.ts'
import { del, get, manager, member, patch, post } from '../route.ts'

/**
 * The event types that a webhook can subscribe to. A project has no webhooks when it is created, and none after it is deleted.
 */
export const webhookEvents = (Object.keys(events) as EventType[]).filter(
  type =>
    type !== 'notification' && type !== 'inbox.updated' && type !== 'project.created' && type !== 'project.deleted',
)
const EventTypes = v.pipe(
  v.array(v.picklist(webhookEvents, 'must be an event type')),
  v.minLength(1, 'must contain at least one event'),
  v.maxLength(webhookEvents.length),
  v.transform(types => [...new Set(types)]),
)

export const Webhook = v.object({
  id: Id,
  projectId: Id,
  url: v.string(),
  events: v.array(v.string()),
  enabled: v.boolean(),
  description: v.nullable(v.string()),
  disabledReason: v.nullable(v.string()),
  /**
   * The account or key that created the webhook, last enabled it, or last changed its URL or events. An event that this owner cannot read
   * disables the webhook.
   */
  createdBy: v.nullable(Maker),
  createdAt: Time,
  updatedAt: Time,
})
/** The secret verifies signatures (Standard Webhooks 1.0). It is shown once. */
export const WebhookWithSecret = v.object({ ...Webhook.entries, secret: v.string() })
/** One message to one receiver, with its latest attempt. `messageId` is the `webhook-id` header, which all attempts share. */
export const Delivery = v.object({
  id: Id,
  webhookId: Id,
  messageId: v.string(),
  type: v.string(),
  status: v.picklist(['pending', 'succeeded', 'failed']),
  attempts: Count,
  nextAttemptAt: v.nullable(Time),
  request: v.object({ url: v.string(), body: v.string() }),
  responseStatus: v.nullable(Count),
  responseBody: v.nullable(v.string()),
  error: v.nullable(v.string()),
  durationMs: v.nullable(Count),
  createdAt: Time,
  lastAttemptAt: v.nullable(Time),
  finishedAt: v.nullable(Time),
})
const Fields = { url: WebhookUrl, events: EventTypes, enabled: v.boolean(), description: v.nullable(text(0, 500)) }
const CreateWebhook = v.strictObject({
  url: Fields.url,
  events: Fields.events,
  enabled: v.optional(Fields.enabled, true),
  description: v.optional(Fields.description, null),
})
const ListDeliveries = v.strictObject({
  status: v.optional(v.picklist(['pending', 'succeeded', 'failed'], 'must be pending, succeeded or failed')),
  limit: limit(50, 200),
  cursor: v.optional(queryInteger(1)),
})

export const webhooks = {
  list: get('/api/projects/{projectId}/webhooks', {
    notFound: ofProject,
    who: member('webhooks.read'),
    summary: "List a project's webhooks",
    output: v.array(Webhook),
  }),
  create: post('/api/projects/{projectId}/webhooks', {
    fails: ['WEBHOOK_TARGET_REFUSED'],
    notFound: ofProject,
    audited: { target: 'webhook', id: 'id' },
    who: manager('webhooks.write'),
    summary: 'Create a webhook that sends signed events of a project to a URL',
    input: CreateWebhook,
    output: WebhookWithSecret,
    idempotent: false,
    status: 201,
  }),
  update: patch('/api/projects/{projectId}/webhooks/{webhookId}', {
    fails: ['WEBHOOK_TARGET_REFUSED'],
    notFound: { ...ofProject, webhookId: 'WEBHOOK_NOT_FOUND' },
    audited: { target: 'webhook', detail: ['enabled'] },
    who: manager('webhooks.write'),
    summary: 'Update a webhook',
    input: v.partial(v.strictObject(Fields)),
    output: Webhook,
  }),
  delete: del('/api/projects/{projectId}/webhooks/{webhookId}', {
    notFound: { ...ofProject, webhookId: 'WEBHOOK_NOT_FOUND' },
    audited: { target: 'webhook' },
    who: manager('webhooks.write'),
    summary: 'Delete a webhook and its deliveries',
  }),
  rotate: post('/api/projects/{projectId}/webhooks/{webhookId}/rotate', {
    notFound: { ...ofProject, webhookId: 'WEBHOOK_NOT_FOUND' },
    audited: { target: 'webhook' },
    who: manager('webhooks.write'),
    summary: "Replace a webhook's secret",
    details: 'The new secret is shown once.',
    output: WebhookWithSecret,
    idempotent: false,
    status: 201,
  }),
  test: post('/api/projects/{projectId}/webhooks/{webhookId}/test', {
    notFound: { ...ofProject, webhookId: 'WEBHOOK_NOT_FOUND' },
    who: manager('webhooks.write'),
    summary: 'Send a webhook.test event to a webhook',
    output: Delivery,
    status: 202,
  }),
  deliveries: get('/api/projects/{projectId}/webhooks/{webhookId}/deliveries', {
    notFound: { ...ofProject, webhookId: 'WEBHOOK_NOT_FOUND' },
    who: member('webhooks.read'),
    summary: "List a webhook's deliveries, newest first",
    details: 'Use cursor for deliveries with a smaller ID.',
    input: ListDeliveries,
    output: v.object({ items: v.array(Delivery), nextCursor: v.nullable(Id) }),
  }),
  redeliver: post('/api/projects/{projectId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver', {
    notFound: { ...ofProject, webhookId: 'WEBHOOK_NOT_FOUND', deliveryId: 'DELIVERY_NOT_FOUND' },
    who: manager('webhooks.write'),
    summary: 'Resend a delivery',
    output: Delivery,
    status: 202,
  }),
}
