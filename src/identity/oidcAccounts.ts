import * as v from 'valibot'
import { Problem } from '../contract/errors.ts'
import { Email, Name } from '../contract/fields.ts'
import { takeInvitations } from '../domain/invitations.ts'
import type { Transaction } from '../store/database.ts'
import {
  disownRegistrant,
  findLinkable,
  findUserByOidc,
  insertOidcUser,
  linkUser,
  type LinkableRow,
} from '../store/oidc.ts'
import { deleteSignInTokensOf } from '../store/signInTokens.ts'
import { hasUsers, type UserRow } from '../store/users.ts'
import type { Identity } from './identity.ts'
import type { Claims } from './oidcProvider.ts'

/**
 * The account of somebody whom the identity provider has signed in: the one that is linked to issuer and subject; else the one
 * with the address, which is linked now; else a new one with the role user. The last two only where the provider says that the
 * address is verified. New accounts need no `registrationEnabled`: a super_admin has chosen the provider, and it chooses who may
 * come. The first account of a server is never made here.
 * @throws Problem OIDC_REFUSED
 */
export async function accountOf(identity: Identity, tx: Transaction, claims: Claims): Promise<UserRow> {
  const { issuer, subject } = claims
  // The store cuts text at NUL: two subjects must never look like one.
  if (!/^[\x20-\x7e]{1,255}$/.test(subject))
    throw refuse('The identity provider names you in a way that is not allowed.')
  const linked = await findUserByOidc(tx, claims)
  if (linked) return linked
  if (!(await hasUsers(tx))) throw refuse('This server has no users yet. Create the first one with: board auth setup')
  const email = verifiedAddress(claims)
  const known = await findLinkable(tx, email)
  const user = known
    ? await link(identity, tx, known, claims)
    : await insertOidcUser(tx, { email, displayName: displayNameOf(claims, email), issuer, subject })
  await takeInvitations(tx, user)
  return user
}

/**
 * Links an account. One that somebody has registered here, with an address that nobody had to show to be theirs, passes to the
 * address's holder: its password, sign-ins and API keys end.
 */
async function link(
  identity: Identity,
  tx: Transaction,
  known: LinkableRow,
  { issuer, subject }: Claims,
): Promise<UserRow> {
  const { id, email, displayName, role } = known
  if (known.subject !== null && known.issuer === issuer)
    throw refuse(
      'The account with your address belongs to somebody else at the identity provider. A server administrator has to sort this out.',
    )
  if (known.selfRegistered) {
    await disownRegistrant(tx, id)
    await deleteSignInTokensOf(tx, id)
    await identity.announce(tx, { userId: id })
  }
  await linkUser(tx, id, { issuer, subject })
  return { id, email, displayName, role }
}

function verifiedAddress({ email, isVerified }: Claims): string {
  if (email === undefined) throw refuse('The identity provider does not tell your email address.')
  if (!isVerified) throw refuse('The identity provider has not verified your email address.')
  const address = v.safeParse(Email, email)
  if (!address.success) throw refuse('The identity provider gives an email address that is not valid.')
  return address.output
}

function displayNameOf({ displayName }: Claims, email: string): string {
  const name = v.safeParse(Name, displayName?.replace(/\p{C}/gu, '').trim())
  return name.success ? name.output : email.slice(0, email.lastIndexOf('@'))
}

const refuse = (message: string) => new Problem('OIDC_REFUSED', message)
