import { invalid, Problem } from '../contract/errors.ts'
import type { Peer } from './peer.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import type { Transaction } from '../store/engine/database.ts'
import {
  deleteOtherSignIns,
  deleteSignIn,
  listSignIns,
  type ListedSignIn,
  type Origin,
} from '../store/accounts/signInTokens.ts'
import { findUserByEmail, localOperator, replacePasswordHash } from '../store/accounts/users.ts'
import type { Identity, AuthContext } from './identity.ts'
import { hashPassword, verifyPassword } from './passwords.ts'

const maxClientCharacters = 200

/** The origin of a sign-in. The client's own name is shown to the account's owner, so it is shortened and stripped. */
export const originOf = ({ address }: Pick<Peer, 'address'>, { client }: { client?: string }): Origin => ({
  address,
  client: client?.replace(/\p{C}/gu, '').slice(0, maxClientCharacters) || null,
})

/** The caller's own sign-ins, the newest first. */
export const list = ({ db, config }: Pick<AuthContext, 'db' | 'config'>, { userId }: Caller): Promise<ListedSignIn[]> =>
  listSignIns(db, userId, config.clock().toISOString())

/** Ends a sign-in of the caller. @throws Problem SIGN_IN_NOT_FOUND, also for those of others */
export async function end(identity: Identity, tx: Transaction, { userId }: Caller, id: number): Promise<void> {
  const tokenHash = await deleteSignIn(tx, userId, id)
  if (tokenHash === undefined) throw new Problem('SIGN_IN_NOT_FOUND')
  await identity.announce(tx, { tokenHash })
}

/**
 * Changes the caller's own password and ends all other sign-ins of the account. API keys stay. A wrong current password counts as
 * a failed sign-in.
 * @throws Problem INVALID_CREDENTIALS, RATE_LIMITED, NOT_LOCAL_AUTH, CONFLICT, VALIDATION_FAILED if nothing would change
 */
export async function changePassword(
  { db, identity }: AuthContext,
  caller: Caller,
  { currentPassword, newPassword }: { currentPassword: string; newPassword: string },
  { address }: Pick<Peer, 'address'>,
): Promise<void> {
  if (caller.userId === localOperator) throw new Problem('CONFLICT', 'No account has a password yet.')
  const { email } = caller
  const [from, to] = await identity.hashQueue(async () => {
    await identity.throttle.check(address, email)
    const found = await findUserByEmail(db, email)
    if (found?.id === caller.userId && found.passwordHash === null) throw new Problem('NOT_LOCAL_AUTH')
    if (found?.id !== caller.userId || !(await verifyPassword(found.passwordHash, currentPassword))) {
      await identity.throttle.countFailure(address, email)
      throw new Problem('INVALID_CREDENTIALS', 'The current password is wrong.')
    }
    if (newPassword === currentPassword) throw invalid('newPassword', 'must differ from the current password')
    return [found.passwordHash!, await hashPassword(newPassword)] as const
  })
  await db.transaction(async tx => {
    if (!(await replacePasswordHash(tx, caller.userId, from, to)))
      throw new Problem('CONFLICT', 'The password was changed by another request.')
    for (const tokenHash of await deleteOtherSignIns(tx, caller.userId, caller.tokenHash))
      await identity.announce(tx, { tokenHash })
  })
}
