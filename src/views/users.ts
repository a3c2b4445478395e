import type { InferOutput } from 'valibot'
import type { Me, SignedIn, SignIn } from '../contract/auth.ts'
import type { AdminUser } from '../contract/users.ts'
import type { ListedSignIn } from '../store/signInTokens.ts'
import type { AccountRow, UserRow } from '../store/users.ts'

type Account = InferOutput<typeof Me>

/** The local operator has the id "0". */
const user = ({ id, email, displayName, role }: UserRow): Account => ({
  id: String(id),
  email,
  displayName,
  role,
})

export const signedIn = ({ token, user: row }: { token: string; user: UserRow }): InferOutput<typeof SignedIn> => ({
  token,
  user: user(row),
})

/** An account as administrators see it. */
export const adminUser = ({
  id,
  email,
  displayName,
  role,
  authProvider,
  avatarUrl,
  createdAt,
  selfRegistered,
}: AccountRow): InferOutput<typeof AdminUser> => ({
  id: String(id),
  email,
  name: displayName,
  role,
  authProvider,
  avatarUrl,
  isSuperAdmin: role === 'super_admin',
  addressVerified: selfRegistered === 0,
  createdAt,
})

/** An account as other people find it. */
export const foundUser = ({ id, email, displayName }: UserRow): Omit<Account, 'role'> => ({
  id: String(id),
  email,
  displayName,
})

/** A sign-in as its owner sees it. `hash` is that of the token that asks. */
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
