import type { InferOutput } from 'valibot'
import {
  defaultNotificationSettings,
  type NotificationKind,
  type NotificationSettings,
} from '../contract/notifications.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { listWorkers } from '../store/notifications.ts'
import { readUserSetting, writeUserSetting } from '../store/settings.ts'

/** An account's notification settings, without the webhook, which is stored with the webhooks. */
export type NotificationWishes = Omit<InferOutput<typeof NotificationSettings>, 'webhookUrl'>
/** A recipient of a notification. */
export interface Recipient {
  userId: number
  desktop: boolean
  sound: boolean
}

const name = 'notifications'
const { webhookUrl: _, ...defaults } = defaultNotificationSettings

/** An account's settings, with defaults. */
export const readWishes = async (db: Reader, userId: number): Promise<NotificationWishes> =>
  wishesOf(await readUserSetting(db, userId, name))

export async function changeWishes(
  tx: Transaction,
  userId: number,
  change: Partial<NotificationWishes>,
): Promise<NotificationWishes> {
  const stored = await readUserSetting(tx, userId, name)
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  if (Object.keys(given).length > 0)
    await writeUserSetting(tx, userId, name, JSON.stringify({ ...JSON.parse(stored ?? '{}'), ...given }))
  return { ...wishesOf(stored), ...given }
}

/** Those who work on a project and want this kind of notification. */
export async function recipientsOf(db: Reader, projectId: number, kind: NotificationKind): Promise<Recipient[]> {
  const workers = (await listWorkers(db, projectId)).map(({ userId, settings }) => ({
    userId,
    wishes: wishesOf(settings),
  }))
  return workers
    .filter(({ wishes }) => wishes[kind])
    .map(({ userId, wishes: { desktop, sound } }) => ({ userId, desktop, sound }))
}

const wishesOf = (stored: string | null | undefined): NotificationWishes => ({
  ...defaults,
  ...(JSON.parse(stored ?? '{}') as Partial<NotificationWishes>),
})
