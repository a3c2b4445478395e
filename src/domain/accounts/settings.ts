import type { InferOutput } from 'valibot'
import { Problem, type Detail } from '../../contract/errors.ts'
import { defaultUserSettings } from '../../contract/accounts/defaultUserSettings.ts'
import { defaultContextRelay, type ContextRelay, type UserSettings } from '../../contract/accounts/settings.ts'
import { defaultShortcuts, type ShortcutAction } from '../../contract/accounts/shortcuts.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { readServerSetting, writeServerSetting } from '../../store/server/serverSettings.ts'
import { readUserSetting, writeUserSetting } from '../../store/accounts/settings.ts'

type Relay = InferOutput<typeof ContextRelay>
type ShortcutKeys = Record<ShortcutAction, string>

/** An account's settings, with defaults. */
export const readUserSettings = (db: Reader, userId: number): Promise<UserSettings> =>
  read(db, userId, 'settings', defaultUserSettings)

export const changeUserSettings = (
  tx: Transaction,
  userId: number,
  change: Partial<UserSettings>,
): Promise<UserSettings> => merge(tx, userId, 'settings', defaultUserSettings, change)

/** An account's shortcuts by action. */
export const readShortcuts = (db: Reader, userId: number): Promise<ShortcutKeys> =>
  read(db, userId, 'shortcuts', defaultShortcuts)

/**
 * @throws Problem VALIDATION_FAILED, naming both actions, if two would share a key. A default that is added later can share a
 * stored key: the client then ignores the default.
 */
export async function changeShortcuts(
  tx: Transaction,
  userId: number,
  change: Partial<ShortcutKeys>,
): Promise<ShortcutKeys> {
  const shortcuts = await merge<ShortcutKeys>(tx, userId, 'shortcuts', defaultShortcuts, change)
  const details = findConflicts(shortcuts).filter(({ path, owner }) => path in change || (owner ?? path) in change)
  if (details.length > 0)
    throw new Problem(
      'VALIDATION_FAILED',
      details
        .map(({ path, message }) => `${path} ${message}`)
        .join('; ')
        .slice(0, 2000),
      { details: details.map(({ path, message }) => ({ path, message })) },
    )
  return shortcuts
}

/** The threshold at which agents hand off to a fresh session. */
export const readContextRelay = async (db: Reader): Promise<Relay> => ({
  ...defaultContextRelay,
  ...(JSON.parse((await readServerSetting(db, 'contextRelay')) ?? '{}') as Partial<Relay>),
})

export async function changeContextRelay(tx: Transaction, change: Partial<Relay>): Promise<Relay> {
  const relay = { ...(await readContextRelay(tx)), ...definedFields(change) }
  await writeServerSetting(tx, 'contextRelay', JSON.stringify(relay))
  return relay
}

async function read<T extends object>(db: Reader, userId: number, name: string, defaults: T): Promise<T> {
  const stored = JSON.parse((await readUserSetting(db, userId, name)) ?? '{}') as Partial<T>
  return { ...defaults, ...stored }
}

async function merge<T extends object>(
  tx: Transaction,
  userId: number,
  name: string,
  defaults: T,
  change: Partial<T>,
): Promise<T> {
  const stored = JSON.parse((await readUserSetting(tx, userId, name)) ?? '{}') as Partial<T>
  await writeUserSetting(tx, userId, name, JSON.stringify({ ...stored, ...definedFields(change) }))
  return { ...defaults, ...stored, ...definedFields(change) }
}

const definedFields = <T extends object>(change: Partial<T>) =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as Partial<T>

/** `a,b` means either key, `g g` one after the other. */
function findConflicts(shortcuts: ShortcutKeys): (Detail & { owner?: string })[] {
  const owners = new Map<string, string>()
  const details: (Detail & { owner?: string })[] = []
  for (const [action, keys] of Object.entries(shortcuts)) {
    for (const key of keys.split(',').map(each => each.trim())) {
      const owner = owners.get(key)
      if (key === '') details.push({ path: action, message: 'must be a comma-separated list of keys' })
      else if (owner !== undefined && owner !== action)
        details.push(
          { path: action, owner, message: `must not share the key ${key} with ${owner}` },
          { path: owner, owner: action, message: `must not share the key ${key} with ${action}` },
        )
      else owners.set(key, action)
    }
  }
  return details
}
