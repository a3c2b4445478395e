import { invalid, Problem } from '../contract/errors.ts'
import { isAboutServer } from '../contract/accounts/keys.ts'
import type { Permission } from '../contract/route.ts'
import { projectRole } from '../domain/accounts/access.ts'
import { hashToken, lastFour, createToken } from '../domain/accounts/token.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import {
  deleteKey,
  insertKey,
  listKeys,
  readKey,
  seesOrganization,
  setKeyExpiry,
  type KeyRow,
  type KeyScope,
  type NewKeyRow,
} from '../store/accounts/keys.ts'
import { reassignSchedules } from '../store/automation/schedules.ts'
import { reassignWebhooks } from '../store/automation/webhooks.ts'
import { ownerFor } from '../store/accounts/users.ts'
import { isAdmin, type Caller } from '../domain/accounts/caller.ts'
import type { Identity } from './identity.ts'

const dayMs = 86_400_000
const usualDays = 90
const maxDays = 366

/** A new key; `token` is shown only once. */
export interface MintedKey {
  row: KeyRow
  token: string
}
export interface KeyRequest {
  name: string
  scope: KeyScope
  organizationId?: number
  projectId?: number
  permissions: readonly Permission[]
  expiresAt?: string
  expiresInDays?: number
}

/**
 * Creates an API key of the caller.
 * @throws Problem PROJECT_NOT_FOUND, ORGANIZATION_NOT_FOUND, VALIDATION_FAILED, FORBIDDEN if a caller other than a super_admin
 * requests server permissions
 */
export async function createKey(tx: Transaction, caller: Caller, request: KeyRequest): Promise<MintedKey> {
  requireRights(caller, request.permissions)
  await requireScope(tx, caller, request)
  return mintKey(tx, {
    userId: await ownerFor(tx, caller.userId),
    name: request.name,
    scope: request.scope,
    organizationId: request.organizationId ?? null,
    projectId: request.projectId ?? null,
    permissions: JSON.stringify([...new Set(request.permissions)]),
    expiresAt: expiryOf(request, Date.parse(tx.now)),
  })
}

/**
 * Creates the key of a connected app in the caller's name, for everything that the caller can see or for one project. Its secret
 * is never revealed.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function grantKey(
  tx: Transaction,
  caller: Caller,
  grant: Pick<NewKeyRow, 'name' | 'expiresAt' | 'app' | 'oauthClientId'> & {
    projectId?: number
    permissions: readonly Permission[]
  },
): Promise<KeyRow> {
  const { projectId, permissions, ...app } = grant
  const scope = projectId === undefined ? 'server' : 'project'
  await requireScope(tx, caller, { projectId })
  return insertKey(tx, {
    ...app,
    userId: await ownerFor(tx, caller.userId),
    scope,
    projectId: projectId ?? null,
    permissions: JSON.stringify(permissions),
    hash: hashToken(createToken('svc_ak_')),
    lastFour: '',
  })
}

/** The caller's keys, oldest first. */
export const keysOf = (db: Reader, caller: Caller): Promise<KeyRow[]> => listKeys(db, caller.userId)

/** @throws Problem KEY_NOT_FOUND, also for the keys of others */
export async function getKey(db: Reader, caller: Caller, id: number): Promise<KeyRow> {
  const row = await readKey(db, caller.userId, id)
  if (!row) throw new Problem('KEY_NOT_FOUND')
  return row
}

/**
 * Creates a key with the same permissions and expiry. The old one stays valid for `graceSecs`, and never beyond its own expiry.
 * Its webhooks pass to the new key. Without a grace period, they are deleted, because the old key might have been stolen.
 * @throws Problem KEY_NOT_FOUND, CONFLICT if the key has expired or is an app's, FORBIDDEN if its owner can no longer grant its
 * permissions
 */
export async function rotateKey(
  identity: Identity,
  tx: Transaction,
  caller: Caller,
  id: number,
  graceSecs: number,
): Promise<MintedKey> {
  const old = await getKey(tx, caller, id)
  if (old.app !== null)
    throw new Problem(
      'CONFLICT',
      'The app renews its tokens automatically. Revoke the key, then connect the app again.',
    )
  if (old.expiresAt <= tx.now) throw new Problem('CONFLICT', 'The key has expired. Create a new one.')
  requireRights(caller, JSON.parse(old.permissions) as Permission[])
  const graceEndsAt = new Date(Date.parse(tx.now) + graceSecs * 1000).toISOString()
  if (graceEndsAt < old.expiresAt) await setKeyExpiry(tx, id, graceEndsAt)
  if (graceSecs === 0) await identity.announce(tx, { keyId: id })
  const { userId, name, scope, organizationId, projectId, permissions, expiresAt } = old
  const minted = await mintKey(tx, { userId, name, scope, organizationId, projectId, permissions, expiresAt })
  if (graceSecs > 0) {
    await reassignWebhooks(tx, id, minted.row.id)
    await reassignSchedules(tx, id, minted.row.id)
  }
  return minted
}

/**
 * Revokes a key at once and deletes it.
 * @throws Problem KEY_NOT_FOUND
 */
export async function revokeKey(identity: Identity, tx: Transaction, caller: Caller, id: number): Promise<void> {
  if (!(await deleteKey(tx, caller.userId, id))) throw new Problem('KEY_NOT_FOUND')
  await identity.announce(tx, { keyId: id })
}

function requireRights({ role }: Caller, permissions: readonly Permission[]): void {
  if (role !== 'super_admin' && permissions.some(isAboutServer))
    throw new Problem(
      'FORBIDDEN',
      `Only a super_admin's key can have ${permissions.filter(isAboutServer).join(' and ')}.`,
    )
}

async function requireScope(
  db: Reader,
  caller: Caller,
  { projectId, organizationId }: Pick<KeyRequest, 'projectId' | 'organizationId'>,
): Promise<void> {
  if (projectId !== undefined && !(await projectRole(db, caller, projectId))) throw new Problem('PROJECT_NOT_FOUND')
  if (organizationId !== undefined && !(await seesOrganization(db, caller.userId, isAdmin(caller), organizationId)))
    throw new Problem('ORGANIZATION_NOT_FOUND')
}

function expiryOf({ expiresAt, expiresInDays = usualDays }: KeyRequest, nowMs: number): string {
  const expiryMs = expiresAt === undefined ? nowMs + expiresInDays * dayMs : Date.parse(expiresAt)
  if (!Number.isFinite(expiryMs)) throw invalid('expiresAt', 'must be an ISO 8601 time')
  if (expiryMs <= nowMs) throw invalid('expiresAt', 'must be in the future')
  if (expiryMs > nowMs + maxDays * dayMs) throw invalid('expiresAt', `must be within ${maxDays} days`)
  return new Date(expiryMs).toISOString()
}

async function mintKey(tx: Transaction, key: Omit<NewKeyRow, 'hash' | 'lastFour'>): Promise<MintedKey> {
  const token = createToken('svc_ak_')
  return { token, row: await insertKey(tx, { ...key, hash: hashToken(token), lastFour: lastFour(token) }) }
}
