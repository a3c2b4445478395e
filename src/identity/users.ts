import { randomBytes } from 'node:crypto'
import { Problem } from '../contract/errors.ts'
import type { UserRole } from '../contract/fields.ts'
import { isAdmin, type Caller } from '../domain/accounts/caller.ts'
import { takeInvitations } from '../domain/projects/invitations.ts'
import * as organizations from '../domain/accounts/organizations.ts'
import * as projects from '../domain/projects/projects.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { markVerified } from '../store/accounts/oidc.ts'
import { countOwnedProjects } from '../store/projects/projects.ts'
import { deleteSignInTokensOf } from '../store/accounts/signInTokens.ts'
import { reassignTemplates } from '../store/boards/templates.ts'
import {
  countAccounts,
  deleteUser,
  findUserByEmail,
  hasOtherSuperAdmin,
  hasUsers,
  insertUser,
  listAccounts,
  localOperator,
  readAccount,
  readFirstSuperAdmin,
  setPasswordHash,
  updateUser,
  type AccountRow,
} from '../store/accounts/users.ts'
import { revokeAgentTokens } from './agentTokens.ts'
import type { Identity, AuthContext } from './identity.ts'
import { hashPassword } from './passwords.ts'

/** A new account; the password is shown only once. */
export interface NewAccount {
  user: AccountRow
  generatedPassword: string
}
/** The administrator who is the author of a change, read inside the transaction. */
interface Actor {
  id: number
  role: UserRole
}

/** A page of the accounts, and their total (specification "Admin users"). */
export async function list(
  db: Reader,
  page: { search?: string; offset: number; limit: number },
): Promise<{ users: AccountRow[]; total: number }> {
  return { users: await listAccounts(db, page), total: await countAccounts(db, page.search) }
}

/**
 * Creates an account with a generated password.
 * @throws Problem FORBIDDEN, EMAIL_TAKEN, CONFLICT before the first user exists
 */
export async function create(
  { db, identity }: AuthContext,
  caller: Caller,
  { email, name, role }: { email: string; name: string; role: UserRole },
): Promise<NewAccount> {
  const generatedPassword = generatePassword()
  const passwordHash = await identity.hashQueue(() => hashPassword(generatedPassword))
  const user = await db.transaction(async tx => {
    if (!(await hasUsers(tx))) throw new Problem('CONFLICT', 'Create the first user with POST /api/auth/setup.')
    requireRank(await actorOf(tx, caller), role)
    if (await findUserByEmail(tx, email)) throw new Problem('EMAIL_TAKEN')
    const made = await insertUser(tx, { email, displayName: name, role, passwordHash })
    await takeInvitations(tx, made)
    return find(tx, made.id)
  })
  return { user, generatedPassword }
}

/**
 * Changes an account. Confirming its address accepts the invitations to it, and single sign-on with the address then
 * links the account instead of replacing it.
 * @throws Problem USER_NOT_FOUND, FORBIDDEN, LAST_SUPER_ADMIN
 */
export async function update(
  tx: Transaction,
  caller: Caller,
  id: number,
  change: { name?: string; role?: UserRole; addressVerified?: true },
): Promise<AccountRow> {
  const { user } = await findChangeable(tx, caller, id, change.role)
  const role = change.role ?? user.role
  if (role !== 'super_admin') await requireOtherSuperAdmin(tx, user)
  await updateUser(tx, id, { displayName: change.name ?? user.displayName, role })
  if (change.addressVerified && user.selfRegistered === 1) {
    await markVerified(tx, id)
    await takeInvitations(tx, user)
  }
  return find(tx, id)
}

/**
 * Deletes an account and revokes all its tokens. Its projects, templates, and organizations without another admin pass
 * to a super_admin: the caller, or else the first.
 * @throws Problem USER_NOT_FOUND, FORBIDDEN, CANNOT_DELETE_SELF, LAST_SUPER_ADMIN
 */
export async function remove(identity: Identity, tx: Transaction, caller: Caller, id: number): Promise<void> {
  const { user, actor } = await findChangeable(tx, caller, id)
  if (actor.id === id) throw new Problem('CANNOT_DELETE_SELF')
  await requireOtherSuperAdmin(tx, user)
  const newOwner = actor.role === 'super_admin' ? actor : (await readFirstSuperAdmin(tx))!
  await reassignTemplates(tx, id, newOwner.id)
  await eraseAccount(identity, tx, id, newOwner.id)
}

/**
 * Deletes an account with its password, sign-ins, keys, agent tokens, credentials, settings and memberships. Its
 * projects, and organizations without another admin, pass to the new owner.
 */
export async function eraseAccount(identity: Identity, tx: Transaction, id: number, newOwnerId: number): Promise<void> {
  await projects.reassign(tx, id, newOwnerId)
  await organizations.reassign(tx, id, newOwnerId)
  await revokeAgentTokens(identity, tx, { userId: id })
  await deleteUser(tx, id)
  await identity.announce(tx, { userId: id })
}

/**
 * Replaces an account's password with a generated one and ends its sign-ins; its API keys stay.
 * @throws Problem USER_NOT_FOUND, FORBIDDEN, NOT_LOCAL_AUTH
 */
export async function resetPassword({ db, identity }: AuthContext, caller: Caller, id: number): Promise<string> {
  const generatedPassword = generatePassword()
  const passwordHash = await identity.hashQueue(() => hashPassword(generatedPassword))
  await db.transaction(async tx => {
    const { user } = await findChangeable(tx, caller, id)
    if (user.authProvider !== 'local') throw new Problem('NOT_LOCAL_AUTH')
    await setPasswordHash(tx, id, passwordHash)
    await deleteSignInTokensOf(tx, id)
    await identity.announce(tx, { signInsOf: id })
  })
  return generatedPassword
}

/** The number of projects that would pass to a new owner if the account were deleted. @throws Problem USER_NOT_FOUND */
export async function countOwned(db: Reader, id: number): Promise<number> {
  return countOwnedProjects(db, (await find(db, id)).id)
}

async function find(db: Reader, id: number): Promise<AccountRow> {
  const user = await readAccount(db, id)
  if (!user) throw new Problem('USER_NOT_FOUND')
  return user
}

/** An account that the caller can change, and can give the role `newRole`. */
async function findChangeable(
  tx: Transaction,
  caller: Caller,
  id: number,
  newRole?: UserRole,
): Promise<{ user: AccountRow; actor: Actor }> {
  const user = await find(tx, id)
  const actor = await actorOf(tx, caller)
  requireRank(actor, user.role, newRole)
  return { user, actor }
}

/** Reads the caller again, because another administrator might have deleted or demoted them since the request arrived. */
async function actorOf(tx: Transaction, caller: Caller): Promise<Actor> {
  const actor = caller.userId === localOperator ? await readFirstSuperAdmin(tx) : await readAccount(tx, caller.userId)
  if (!actor) throw new Problem('UNAUTHENTICATED', 'Your account was deleted.')
  if (!isAdmin(actor)) throw new Problem('FORBIDDEN')
  return actor
}

function requireRank(actor: Actor, ...roles: Array<UserRole | undefined>): void {
  if (actor.role !== 'super_admin' && roles.includes('super_admin'))
    throw new Problem('FORBIDDEN', 'Only a super_admin can create or change a super_admin.')
}

async function requireOtherSuperAdmin(tx: Transaction, { id, role }: AccountRow): Promise<void> {
  if (role === 'super_admin' && !(await hasOtherSuperAdmin(tx, id))) throw new Problem('LAST_SUPER_ADMIN')
}

/** Letters and digits that are not easily confused. There are 32, so that five random bits choose evenly. */
const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'

/** 100 random bits in four groups that can be read out: `k7mqd-x2w9h-…`. */
const generatePassword = (): string =>
  Array.from(randomBytes(20), byte => alphabet[byte & 31])
    .join('')
    .replace(/.{5}(?=.)/g, '$&-')
