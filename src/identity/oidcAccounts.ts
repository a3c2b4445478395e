import * as v from 'valibot'
import { Problem } from '../contract/errors.ts'
import { Email, Name } from '../contract/fields.ts'
import { endWorkOf, type Runners } from '../domain/accounts/accountWork.ts'
import { takeInvitations } from '../domain/projects/invitations.ts'
import { bySystem, insertAuditRow } from '../store/server/audit.ts'
import type { Transaction } from '../store/engine/database.ts'
import { findLinkable, findUserByOidc, insertOidcUser, linkUser, type LinkableRow } from '../store/accounts/oidc.ts'
import { hasUsers, readOtherSuperAdmin, type UserRow } from '../store/accounts/users.ts'
import type { Identity } from './identity.ts'
import type { Claims } from './oidcProvider.ts'
import type { OidcBounds } from './oidcSettings.ts'
import { eraseAccount } from './users.ts'

/** An account that was deleted because its address was verified as another user's, and its projects. */
interface Replaced {
  userId: number
  email: string
  projectIds: number[]
}
export interface SignedInAccount {
  user: UserRow
  replaced?: Replaced
}

/**
 * Finds or creates the account of a signed-in user:
 * - the account linked to issuer and subject;
 * - otherwise the account with the address, which is then linked, if the provider reports the address as verified;
 * - otherwise a new one with the role user, under the same condition. `registrationEnabled` does not apply, because the provider
 * decides who can sign in. The first account of a server is never created here.
 * @throws Problem OIDC_REFUSED
 */
export async function findOrCreateAccount(
  place: { identity: Identity } & Runners,
  tx: Transaction,
  claims: Claims,
  bounds: OidcBounds,
): Promise<SignedInAccount> {
  const { issuer, subject } = claims
  // The store cuts text at NUL, so two subjects could become equal.
  if (!/^[\x20-\x7e]{1,255}$/.test(subject))
    throw refuse('The subject claim (sub) of the identity provider must be 1 to 255 printable ASCII characters.')
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

/** Checked at every sign-in, including for linked accounts, because the user might have left the group. */
function requireAllowed(bounds: OidcBounds, claims: Claims): void {
  const { allowedDomains, allowedGroups } = bounds
  if (allowedDomains.length > 0) {
    const email = verifiedAddress(claims, bounds)
    if (!allowedDomains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase()))
      throw refuse('Addresses in your domain cannot sign in to this server. Ask an administrator of the server.')
  }
  if (allowedGroups.length > 0 && !claims.groups.some(group => allowedGroups.includes(group)))
    throw refuse('None of your groups can sign in to this server. Ask an administrator of the server.')
}

function requireUnlinked({ oidcIssuer, oidcSubject }: LinkableRow, claims: Claims): void {
  if (oidcSubject !== null && oidcIssuer === claims.issuer)
    throw refuse(
      'The account with your address belongs to another user of the identity provider. A server administrator must resolve this.',
    )
}

/**
 * Deletes an account that was registered with an unverified address, when the verified owner of the address signs in. The
 * registrant is unknown, so the owner gets a new account without the old data. The old account's projects with their cards and
 * its organizations pass to the first super_admin, and its running work ends.
 */
async function endRegistrant(
  { identity, ...runners }: { identity: Identity } & Runners,
  tx: Transaction,
  { id, email }: LinkableRow,
): Promise<Replaced> {
  const newOwner = await readOtherSuperAdmin(tx, id)
  if (!newOwner)
    throw refuse(
      'The account with your address is unverified and is the only super_admin. Create another super_admin first.',
    )
  const projectIds = await endWorkOf(tx, runners, id)
  await eraseAccount(identity, tx, id, newOwner.id)
  insertAuditRow(tx, {
    ...bySystem('users.delete', { kind: 'user', id }, 'single sign-on'),
    detail: JSON.stringify({ email, newOwnerId: newOwner.id, reason: 'another user verified its address' }),
  })
  return { userId: id, email, projectIds }
}

/** Links an account that an administrator created, or that was previously linked at another provider. */
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
  if (email === undefined) throw refuse('The identity provider does not provide your email address.')
  if (isVerified === undefined && emailVerification === 'required')
    throw refuse(
      'The identity provider does not state that your email address is verified. A super_admin can accept that: board settings oidc --email-verification assumed',
    )
  if (isVerified === false) throw refuse('The identity provider has not verified your email address.')
  const address = v.safeParse(Email, email)
  if (!address.success) throw refuse('The identity provider provides an email address that is not valid.')
  return address.output
}

function displayNameOf({ displayName }: Claims, email: string): string {
  const name = v.safeParse(Name, displayName?.replace(/\p{C}/gu, '').trim())
  return name.success ? name.output : email.slice(0, email.lastIndexOf('@'))
}

const refuse = (message: string) => new Problem('OIDC_REFUSED', message)
