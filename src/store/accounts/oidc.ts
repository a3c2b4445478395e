import type { Reader, Transaction } from '../engine/database.ts'
import type { Origin } from './signInTokens.ts'
import { insertUser, userColumns, users, type StoredUser, type UserRow } from './users.ts'

/** A subject of an identity provider. The issuer and the subject are compared exactly. */
export interface OidcIdentity {
  issuer: string
  subject: string
}
/** An account that can be linked; `selfRegistered` until its address is verified. */
export type LinkableRow = UserRow & Pick<StoredUser, 'oidcIssuer' | 'oidcSubject' | 'selfRegistered'>

export const findUserByOidc = (db: Reader, { issuer, subject }: OidcIdentity): Promise<UserRow | undefined> =>
  db.get(`SELECT ${userColumns} FROM users u WHERE oidc_issuer = ? AND oidc_subject = ?`, [issuer, subject])

export const findLinkable = (db: Reader, email: string): Promise<LinkableRow | undefined> =>
  db.get(
    `SELECT ${userColumns}, ${users.columnsOf(['oidcIssuer', 'oidcSubject', 'selfRegistered'])} FROM users u WHERE email = ?`,
    [email],
  )

/** Creates an account without a password. */
export const insertOidcUser = (
  tx: Transaction,
  { email, displayName, issuer, subject }: { email: string; displayName: string } & OidcIdentity,
): Promise<UserRow> =>
  insertUser(tx, {
    email,
    displayName,
    role: 'user',
    authProvider: 'oidc',
    oidcIssuer: issuer,
    oidcSubject: subject,
  })

export const linkUser = async (tx: Transaction, userId: number, { issuer, subject }: OidcIdentity): Promise<void> =>
  users.update(tx, userId, { oidcIssuer: issuer, oidcSubject: subject })

/** Marks an account as self-registered: its address is not verified. */
export const markSelfRegistered = async (tx: Transaction, userId: number): Promise<void> =>
  users.update(tx, userId, { selfRegistered: true })

/** Marks an account's address as verified. */
export const markVerified = async (tx: Transaction, userId: number): Promise<void> =>
  users.update(tx, userId, { selfRegistered: false })

/** Stores a token if the account is still linked to this identity. @returns whether it was stored */
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
