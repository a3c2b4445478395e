import * as v from 'valibot'
import { Id, Time, WebhookUrl } from '../fields.ts'
import { get, put, user } from '../route.ts'

export const NotificationKind = v.picklist([
  'agentCompleted',
  'agentFailed',
  'agentWaiting',
  'monitorFailing',
  'mentioned',
  'commented',
  'assigned',
  'due',
  'scheduleDisabled',
  'budget',
])
export type NotificationKind = v.InferOutput<typeof NotificationKind>
/**
 * A notification for one user. Before the first user exists, the local operator has the ID "0". It goes to all sockets of the
 * user, regardless of their subscriptions.
 */
export const Notification = v.object({
  userId: v.union([Id, v.literal('0')]),
  kind: NotificationKind,
  projectId: Id,
  /** Null if the notification is not about a card. For a schedule, `cardTitle` is the schedule's name. */
  cardId: v.nullable(Id),
  cardTitle: v.string(),
  message: v.string(),
  desktop: v.boolean(),
  sound: v.boolean(),
  at: Time,
})

const Fields = {
  ...v.entriesFromList(NotificationKind.options, v.boolean()),
  webhookUrl: v.nullable(WebhookUrl),
  desktop: v.boolean(),
  sound: v.boolean(),
}
/**
 * The notifications that the caller wants to receive, and where: `webhookUrl` gets them as a signed POST; the clients ring a bell
 * (`sound`) and show them (`desktop`).
 */
export const NotificationSettings = v.object(Fields)
export const defaultNotificationSettings: v.InferOutput<typeof NotificationSettings> = {
  ...(Object.fromEntries(NotificationKind.options.map(kind => [kind, true])) as Record<NotificationKind, boolean>),
  webhookUrl: null,
  desktop: true,
  sound: true,
}

export const notifications = {
  get: get('/api/settings/notifications', {
    who: user,
    summary: "Get the caller's notification settings",
    output: NotificationSettings,
  }),
  set: put('/api/settings/notifications', {
    fails: ['WEBHOOK_TARGET_REFUSED'],
    audited: { target: 'settings', named: 'notifications' },
    who: user,
    summary: "Update the caller's notification settings",
    details: 'The response to a new webhookUrl contains its secret, which is shown once.',
    input: v.partial(v.strictObject(Fields)),
    output: v.object({ ...Fields, webhookSecret: v.optional(v.string()) }),
  }),
}
