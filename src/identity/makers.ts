import type { Caller } from '../domain/accounts/caller.ts'
import type { Reader } from '../store/engine/database.ts'
import { readKeyHolder } from '../store/accounts/keys.ts'
import type { Maker } from '../store/accounts/makers.ts'
import { callerOfAccount, callerOfKey } from './authenticate.ts'

/**
 * Returns the owner of automatic work as a caller with current permissions, and a description for users. If the owner lost access, returns
 * the reason.
 * @param did the action, for users
 */
export async function presentMaker(
  db: Reader,
  { makerUserId, makerKeyId }: Maker & { makerUserId: number },
  projectId: number,
  now: string,
  did = 'owns it',
): Promise<{ caller?: Caller; name?: string; gone?: string }> {
  if (makerKeyId === null) {
    const caller = await callerOfAccount(db, makerUserId)
    return caller
      ? { caller, name: `${caller.displayName}, who ${did},` }
      : { gone: `The account that ${did} is deleted.` }
  }
  const key = await readKeyHolder(db, makerKeyId, projectId)
  const caller = key && callerOfKey(key, '', projectId)
  if (!caller) return { gone: `The API key that ${did} was revoked.` }
  const name = `The API key "${key.name}" that ${did}`
  return key.expiresAt <= now ? { gone: `${name} has expired.` } : { caller, name }
}
