import type { InferOutput } from 'valibot'
import { Me, type SignedIn, type SignIn } from '../contract/accounts/auth.ts'
import { AdminUser } from '../contract/accounts/users.ts'
import type { ListedSignIn } from '../store/accounts/signInTokens.ts'
import { accountFields, userFields, type AccountRow, type UserRow } from '../store/accounts/users.ts'
import { viewOf } from './view.ts'

type Account = InferOutput<typeof Me>

/** The local operator has the ID "0". */
const user: (row: UserRow) => Account = viewOf(userFields, Me, 'text')

export const signedIn = ({ token, user: row }: { token: string; user: UserRow }): InferOutput<typeof SignedIn> => ({
  token,
  user: user(row),
})

/** An account as administrators see it. */
export const adminUser: (row: AccountRow) => InferOutput<typeof AdminUser> = viewOf(
  accountFields,
  AdminUser,
  'text',
  ({ displayName, role, selfRegistered }: AccountRow) => ({
    name: displayName,
    isSuperAdmin: role === 'super_admin',
    addressVerified: selfRegistered === 0,
  }),
)

/** An account as other people find it. */
export const foundUser = ({ id, email, displayName }: UserRow): Omit<Account, 'role'> => ({
  id: String(id),
  email,
  displayName,
})

/** A sign-in as its owner sees it. `hash` is the hash of the request's token. */
export const signIn =
  (hash: string) =>
  ({ id, createdAt, lastUsedAt, expiresAt, address, client, ...row }: ListedSignIn): InferOutput<typeof SignIn> => ({
    id: String(id),
    createdAt,
    lastUsedAt,
    expiresAt,
    address,
    client,
    current: row.hash === hash,
  })
