import type { Peer } from './peer.ts'
import { Problem } from '../contract/errors.ts'
import { hashToken, createToken } from '../domain/accounts/token.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { markSelfRegistered } from '../store/accounts/oidc.ts'
import { deleteSignInToken, insertSignInToken, type Origin } from '../store/accounts/signInTokens.ts'
import {
  findUserByEmail,
  hasUsers,
  insertUser,
  reassignToFirst,
  searchUsers,
  type UserRow,
} from '../store/accounts/users.ts'
import { signInMs } from './authenticate.ts'
import { mayRegister, readAuthSettings } from './authSettings.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { accept, requireOpen, takeInvitations } from '../domain/projects/invitations.ts'
import type { AuthContext } from './identity.ts'
import { endOperatorSignIn } from './operatorSignIns.ts'
import { isOidcConfigured } from './oidcSettings.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import { originOf } from './signIns.ts'

/** A user who has just signed in; `token` is shown only once. */
export interface SignedInUser {
  token: string
  user: UserRow
}
interface Credentials {
  email: string
  password: string
  /** The client's own name. */
  client?: string
}
type SignUp = Credentials & { displayName?: string }

/** The ways to sign in to this server (specification "Settings"). */
export const authStatus = async (
  auth: AuthContext,
  isOwn: boolean,
): Promise<{ authEnabled: boolean; oidcEnabled: boolean; hasUsers: boolean; registrationEnabled: boolean }> => ({
  authEnabled: (await readAuthSettings(auth)).enabled,
  oidcEnabled: await isOidcConfigured(auth.db),
  hasUsers: await hasUsers(auth.db),
  registrationEnabled: (await hasUsers(auth.db)) && (await mayRegister(auth, isOwn)),
})

/**
 * Creates the first user, a super_admin, who takes over the local operator's records (specification "Authentication"). A caller
 * with the local token, or from the account that runs the server, needs no setup code.
 * @throws Problem SETUP_ALREADY_DONE, SETUP_CODE_REQUIRED, RATE_LIMITED
 */
export async function setup(
  auth: AuthContext,
  input: SignUp & { setupCode?: string },
  peer: Peer,
  holdsLocalToken: boolean,
): Promise<SignedInUser> {
  const { db, identity } = auth
  const passwordHash = await identity.hashQueue(async () => {
    if (await hasUsers(db)) throw new Problem('SETUP_ALREADY_DONE')
    await identity.throttle.check(peer.address, input.email)
    if (!holdsLocalToken && (await identity.needsSetupCode(peer)) && !identity.isSetupCode(input.setupCode)) {
      await identity.throttle.countFailure(peer.address, input.email)
      throw new Problem('SETUP_CODE_REQUIRED', identity.setupCode() === undefined ? ownAccountFirst : undefined)
    }
    return hashPassword(input.password)
  }, peer.address)
  return db.transaction(async tx => {
    if (await hasUsers(tx)) throw new Problem('SETUP_ALREADY_DONE')
    const user = await insertUser(tx, { ...profileOf(input), role: 'super_admin', passwordHash })
    await reassignToFirst(tx, user)
    await takeInvitations(tx, user)
    tx.afterCommit(() => identity.endSetup())
    return signIn(tx, user, passwordHash, originOf(peer, input))
  })
}

/**
 * Signs in with email and password. An unknown account is refused with the same error, after the same time, as a wrong
 * password.
 * @throws Problem INVALID_CREDENTIALS, RATE_LIMITED
 */
export async function login(
  { db, identity }: AuthContext,
  { email, password, client }: Credentials,
  peer: Peer,
): Promise<SignedInUser> {
  const { passwordHash, ...user } = await identity.hashQueue(async () => {
    await identity.throttle.check(peer.address, email)
    const found = await findUserByEmail(db, email)
    if (await verifyPassword(found?.passwordHash, password))
      return {
        id: found!.id,
        email: found!.email,
        displayName: found!.displayName,
        role: found!.role,
        passwordHash: found!.passwordHash!,
      }
    await identity.throttle.countFailure(peer.address, email)
    throw new Problem('INVALID_CREDENTIALS')
  }, peer.address)
  return db.transaction(tx => signIn(tx, user, passwordHash, originOf(peer, { client })))
}

/**
 * Creates an account with the role user. Its address is not verified, so invitations to the address do not apply; the
 * token of an invitation does.
 * @throws Problem REGISTRATION_DISABLED, EMAIL_TAKEN, RATE_LIMITED, INVITATION_NOT_FOUND, INVITATION_EXPIRED
 */
export async function register(
  auth: AuthContext,
  input: SignUp & { invitation?: string },
  peer: Peer,
  holdsLocalToken: boolean,
): Promise<SignedInUser> {
  const { db, identity } = auth
  const isOwn = holdsLocalToken || (await peer.isOwn())
  await requireRegistration(auth, isOwn)
  if (input.invitation !== undefined) await requireOpen(db, input.invitation, auth.config.clock())
  const passwordHash = await identity.hashQueue(async () => {
    await identity.throttle.check(peer.address, input.email)
    if (!(await findUserByEmail(db, input.email))) return hashPassword(input.password)
    await identity.throttle.countFailure(peer.address, input.email)
    throw new Problem('EMAIL_TAKEN')
  }, peer.address)
  return db.transaction(async tx => {
    await requireRegistration({ ...auth, db: tx }, isOwn)
    if (await findUserByEmail(tx, input.email)) throw new Problem('EMAIL_TAKEN')
    const user = await insertUser(tx, { ...profileOf(input), role: 'user', passwordHash })
    await markSelfRegistered(tx, user.id)
    if (input.invitation !== undefined) await accept(tx, user.id, input.invitation)
    return signIn(tx, user, passwordHash, originOf(peer, input))
  })
}

/**
 * Revokes the token of the request.
 * @throws Problem CONFLICT for the local token, which is valid as long as the server runs
 */
export async function logout({ identity }: AuthContext, tx: Transaction, caller: Caller): Promise<void> {
  if (caller.tokenHash === '') throw new Problem('CONFLICT', 'The request has no token to revoke.')
  if (caller.tokenHash === identity.localTokenHash)
    throw new Problem('CONFLICT', 'The local token cannot be revoked. It expires when the server stops.')
  await (caller.kind === 'local' ? endOperatorSignIn : deleteSignInToken)(tx, caller.tokenHash)
  await identity.announce(tx, { tokenHash: caller.tokenHash })
}

const maxFound = 20

/** Up to 20 accounts whose name or email contains the text. */
export const findUsers = (db: Reader, text: string): Promise<UserRow[]> => searchUsers(db, text, maxFound)

async function signIn(tx: Transaction, user: UserRow, passwordHash: string, origin: Origin): Promise<SignedInUser> {
  const token = createToken('svc_st_')
  const isStored = await insertSignInToken(tx, {
    hash: hashToken(token),
    userId: user.id,
    passwordHash,
    origin,
    expiresAt: new Date(Date.parse(tx.now) + signInMs).toISOString(),
  })
  if (!isStored) throw new Problem('INVALID_CREDENTIALS')
  return { token, user }
}

const ownAccountFirst =
  'Create the first user with the account that runs the server, for example with "board auth setup".'

/** The first account is created by setup, because it must be a super_admin. */
async function requireRegistration(place: Pick<AuthContext, 'config'> & { db: Reader }, isOwn: boolean): Promise<void> {
  if (!(await hasUsers(place.db)))
    throw new Problem('REGISTRATION_DISABLED', 'Create the first user with POST /api/auth/setup.')
  if (!(await mayRegister(place, isOwn))) throw new Problem('REGISTRATION_DISABLED')
}

const profileOf = ({ email, displayName }: SignUp) => ({
  email,
  displayName: displayName ?? email.slice(0, email.lastIndexOf('@')),
})
