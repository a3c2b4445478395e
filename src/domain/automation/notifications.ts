import type { InferOutput } from 'valibot'
import {
  defaultNotificationSettings,
  type NotificationKind,
  type NotificationSettings,
} from '../../contract/automation/notifications.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { listAmong, listBudgetKeepers, listWorkers, type WorkerRow } from '../../store/automation/notifications.ts'
import { readUserSetting, writeUserSetting } from '../../store/accounts/settings.ts'
import type { Watching } from '../../views/cards.ts'

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

/**
 * The accounts that receive this kind of notification: of the given accounts, or of those who work on the project, manage the
 * affected budget or watch the card. Excludes accounts that cannot see the project, and for a card, those who opted out of
 * watching it.
 */
export async function recipientsOf(
  db: Reader,
  { projectId, kind, budgetId }: { projectId: number; kind: NotificationKind; budgetId?: number },
  of: readonly number[] | Watching,
): Promise<Recipient[]> {
  const found = 'watching' in of ? await listHearers(db, projectId, of) : await listAmong(db, projectId, of)
  const keepers = budgetId === undefined ? [] : await listAmong(db, projectId, await listBudgetKeepers(db, budgetId))
  const people = [...new Map([...found, ...keepers].map(row => [row.userId, row])).values()].map(
    ({ userId, settings }) => ({ userId, wishes: wishesOf(settings) }),
  )
  return people
    .filter(({ wishes }) => wishes[kind])
    .map(({ userId, wishes: { desktop, sound } }) => ({ userId, desktop, sound }))
}

async function listHearers(db: Reader, projectId: number, { watching, muting }: Watching): Promise<WorkerRow[]> {
  const workers = await listWorkers(db, projectId)
  const others = watching.filter(id => !workers.some(({ userId }) => userId === id))
  const all = others.length === 0 ? workers : [...workers, ...(await listAmong(db, projectId, others))]
  return all.filter(({ userId }) => !muting.includes(userId))
}

const wishesOf = (stored: string | null | undefined): NotificationWishes => ({
  ...defaults,
  ...(JSON.parse(stored ?? '{}') as Partial<NotificationWishes>),
})
