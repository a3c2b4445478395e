import * as v from 'valibot'
import { Problem } from '../contract/errors.ts'
import { Email, Name } from '../contract/fields.ts'
import { endWorkOf, type Runners } from '../domain/accountWork.ts'
import { takeInvitations } from '../domain/invitations.ts'
import { bySystem, insertAuditRow } from '../store/audit.ts'
import type { Transaction } from '../store/database.ts'
import { findLinkable, findUserByOidc, insertOidcUser, linkUser, type LinkableRow } from '../store/oidc.ts'
import { hasUsers, readOtherSuperAdmin, type UserRow } from '../store/users.ts'
import type { Identity } from './identity.ts'
import type { Claims } from './oidcProvider.ts'
import type { OidcBounds } from './oidcSettings.ts'
import { erase } from './users.ts'

/** An account that was deleted because its address proved to be somebody else's, and the new owner of its projects. */
interface Replaced {
  userId: number
  email: string
  heirId: number
  projectIds: number[]
}
export interface Recognized {
  user: UserRow
  replaced?: Replaced
}

/**
 * Finds or makes the account of a signed-in user:
 * - the account linked to issuer and subject;
 * - else the account with the address, which is linked now, if the provider says that the address is verified;
 * - else a new one with the role user, under the same condition. `registrationEnabled` does not apply: the provider
 *   decides who may come. The first account of a server is never made here.
 * @throws Problem OIDC_REFUSED
 */
export async function accountOf(
  place: { identity: Identity } & Runners,
  tx: Transaction,
  claims: Claims,
  bounds: OidcBounds,
): Promise<Recognized> {
  const { issuer, subject } = claims
  // The store cuts text at NUL, so that two subjects could become equal.
  if (!/^[\x20-\x7e]{1,255}$/.test(subject))
    throw refuse('The identity provider names you in a way that is not allowed.')
  requireAllowed(bounds, claims)
  const linked = await findUserByOidc(tx, claims)
  if (linked) return { user: linked }
  if (!(await hasUsers(tx))) throw refuse('This server has no users yet. Create the first one with: board auth setup')
  const email = verifiedAddress(claims, bounds)
  const known = await findLinkable(tx, email)
  if (known) requireUnlinked(known, claims)
  const replaced = known?.selfRegistered ? await endRegistrant(place, tx, known) : undefined
  const user =
    known && !replaced
      ? await link(tx, known, claims)
      : await insertOidcUser(tx, { email, displayName: displayNameOf(claims, email), issuer, subject })
  await takeInvitations(tx, user)
  return { user, replaced }
}

/** Checked at every sign-in, of linked accounts too: somebody may have left the group. */
function requireAllowed(bounds: OidcBounds, claims: Claims): void {
  const { allowedDomains, allowedGroups } = bounds
  if (allowedDomains.length > 0) {
    const email = verifiedAddress(claims, bounds)
    if (!allowedDomains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase()))
      throw refuse('Addresses of your domain may not sign in to this server. Ask its administrator.')
  }
  if (allowedGroups.length > 0 && !claims.groups.some(group => allowedGroups.includes(group)))
    throw refuse('You are in no group that may sign in to this server. Ask its administrator.')
}

function requireUnlinked({ oidcIssuer, oidcSubject }: LinkableRow, claims: Claims): void {
  if (oidcSubject !== null && oidcIssuer === claims.issuer)
    throw refuse(
      'The account with your address belongs to somebody else at the identity provider. A server administrator has to sort this out.',
    )
}

/**
 * Deletes an account that was registered with an unverified address, when the verified holder of the address signs in.
 * Who registered it is unknown, so the holder inherits nothing and gets a new account. Its projects with their cards
 * and its organizations pass to the first super_admin; everything that runs or reports there ends.
 */
async function endRegistrant(
  { identity, ...runners }: { identity: Identity } & Runners,
  tx: Transaction,
  { id, email }: LinkableRow,
): Promise<Replaced> {
  const newOwner = await readOtherSuperAdmin(tx, id)
  if (!newOwner)
    throw refuse(
      'Somebody registered an account with your address without showing it to be theirs, and it is the only super_admin. Another one has to be made first.',
    )
  const projectIds = await endWorkOf(tx, runners, id)
  await erase(identity, tx, id, newOwner.id)
  insertAuditRow(tx, {
    ...bySystem('users.delete', { kind: 'user', id }, 'single sign-on'),
    detail: JSON.stringify({ email, heirId: newOwner.id, reason: 'its address was shown to be of somebody else' }),
  })
  return { userId: id, email, heirId: newOwner.id, projectIds }
}

/** Links an account that an administrator made, or that was linked at another provider before. */
async function link(
  tx: Transaction,
  { id, email, displayName, role }: LinkableRow,
  { issuer, subject }: Claims,
): Promise<UserRow> {
  await linkUser(tx, id, { issuer, subject })
  return { id, email, displayName, role }
}

function verifiedAddress(
  { email, isVerified }: Claims,
  { emailVerification }: Pick<OidcBounds, 'emailVerification'>,
): string {
  if (email === undefined) throw refuse('The identity provider does not tell your email address.')
  if (isVerified === undefined && emailVerification === 'required')
    throw refuse(
      'The identity provider does not state that your email address is verified. A super_admin can accept that: board settings oidc --email-verification assumed',
    )
  if (isVerified === false) throw refuse('The identity provider has not verified your email address.')
  const address = v.safeParse(Email, email)
  if (!address.success) throw refuse('The identity provider gives an email address that is not valid.')
  return address.output
}

function displayNameOf({ displayName }: Claims, email: string): string {
  const name = v.safeParse(Name, displayName?.replace(/\p{C}/gu, '').trim())
  return name.success ? name.output : email.slice(0, email.lastIndexOf('@'))
}

const refuse = (message: string) => new Problem('OIDC_REFUSED', message)
