import type { Reader, Transaction } from './database.ts'
import type { Origin } from './signInTokens.ts'
import type { UserRow } from './users.ts'

/** Who somebody is at an identity provider. Both are compared exactly. */
export interface OidcIdentity {
  issuer: string
  subject: string
}
/** An account as far as it may be linked: `selfRegistered` while nobody has shown that its address is theirs. */
export type LinkableRow = UserRow & { issuer: string | null; subject: string | null; selfRegistered: number }

const fields = 'id, email, display_name AS displayName, role'

export const findUserByOidc = (db: Reader, { issuer, subject }: OidcIdentity): Promise<UserRow | undefined> =>
  db.get(`SELECT ${fields} FROM users WHERE oidc_issuer = ? AND oidc_subject = ?`, [issuer, subject])

export const findLinkable = (db: Reader, email: string): Promise<LinkableRow | undefined> =>
  db.get(
    `SELECT ${fields}, oidc_issuer AS issuer, oidc_subject AS subject, self_registered AS selfRegistered FROM users WHERE email = ?`,
    [email],
  )

/** Makes an account without a password. */
export async function insertOidcUser(
  tx: Transaction,
  user: { email: string; displayName: string } & OidcIdentity,
): Promise<UserRow> {
  const { lastId } = await tx.run(
    `INSERT INTO users (email, display_name, role, auth_provider, oidc_issuer, oidc_subject, created_at) VALUES (?, ?, 'user', 'oidc', ?, ?, ?)`,
    [user.email, user.displayName, user.issuer, user.subject, tx.now],
  )
  return { id: lastId, email: user.email, displayName: user.displayName, role: 'user' }
}

export const linkUser = async (tx: Transaction, userId: number, { issuer, subject }: OidcIdentity): Promise<void> => {
  await tx.run('UPDATE users SET oidc_issuer = ?, oidc_subject = ? WHERE id = ?', [issuer, subject, userId])
}

/** Notes that an account was made by whoever named its address. */
export const markSelfRegistered = async (tx: Transaction, userId: number): Promise<void> => {
  await tx.run('UPDATE users SET self_registered = 1 WHERE id = ?', [userId])
}

/** Notes that somebody vouches for an account's address. */
export const markVerified = async (tx: Transaction, userId: number): Promise<void> => {
  await tx.run('UPDATE users SET self_registered = 0 WHERE id = ?', [userId])
}

/** Stores a token for an account that is still linked to this identity, and tells whether it is. */
export const insertOidcSignInToken = async (
  tx: Transaction,
  token: { hash: string; userId: number; expiresAt: string; origin: Origin } & OidcIdentity,
): Promise<boolean> =>
  (
    await tx.run(
      'INSERT INTO sign_in_tokens (hash, user_id, created_at, last_used_at, expires_at, address, client) SELECT ?1, id, ?2, ?2, ?3, ?4, ?5 FROM users WHERE id = ?6 AND oidc_issuer = ?7 AND oidc_subject = ?8',
      [
        token.hash,
        tx.now,
        token.expiresAt,
        token.origin.address,
        token.origin.client,
        token.userId,
        token.issuer,
        token.subject,
      ],
    )
  ).changes === 1
