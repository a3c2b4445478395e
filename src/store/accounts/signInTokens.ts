import type { UserRole } from '../../contract/fields.ts'
import type { Reader, Transaction } from '../engine/database.ts'
import { joinedGrant, type JoinedGrant } from '../projects/projects.ts'
import { users } from './users.ts'

/** The origin of a sign-in: an address and the client's own name. */
export interface Origin {
  address: string
  client: string | null
}
export interface SignInRow extends JoinedGrant, Origin {
  id: number
  userId: number
  email: string
  displayName: string
  role: UserRole
  expiresAt: string
  lastUsedAt: string
}

/** A sign-in as its owner sees it. */
export interface ListedSignIn {
  id: number
  hash: string
  createdAt: string
  lastUsedAt: string
  expiresAt: string
  address: string
  client: string | null
}

const grant = joinedGrant('t.user_id')
const signIn = `SELECT t.id, t.user_id AS userId, t.expires_at AS expiresAt, t.last_used_at AS lastUsedAt, t.address, t.client, ${users.columnsOf(['email', 'displayName', 'role'])}, ${grant.fields} FROM sign_in_tokens t JOIN users u ON u.id = t.user_id ${grant.joins} WHERE t.hash = ?1`

/** The sign-in with this hash, and its account's grant in the project, if one is named. */
export const findSignIn = (db: Reader, hash: string, projectId?: number): Promise<SignInRow | undefined> =>
  db.get(signIn, [hash, projectId])

/** Stores a token if the account still has this password hash. @returns whether it was stored */
export const insertSignInToken = async (
  tx: Transaction,
  token: { hash: string; userId: number; passwordHash: string; expiresAt: string; origin: Origin },
): Promise<boolean> =>
  (
    await tx.run(
      'INSERT INTO sign_in_tokens (hash, user_id, created_at, last_used_at, expires_at, address, client) SELECT ?1, id, ?2, ?2, ?3, ?4, ?5 FROM users WHERE id = ?6 AND password_hash = ?7',
      [
        token.hash,
        tx.now,
        token.expiresAt,
        token.origin.address,
        token.origin.client,
        token.userId,
        token.passwordHash,
      ],
    )
  ).changes === 1

/** Stores a token if the account exists and the sign-in that requested the token has not ended. @returns whether it was stored */
export const insertSignInOf = async (
  tx: Transaction,
  token: { hash: string; userId: number; asker: string | null; expiresAt: string; origin: Origin },
): Promise<boolean> =>
  (
    await tx.run(
      'INSERT INTO sign_in_tokens (hash, user_id, created_at, last_used_at, expires_at, address, client) SELECT ?1, id, ?2, ?2, ?3, ?4, ?5 FROM users WHERE id = ?6 AND (?7 IS NULL OR EXISTS (SELECT 1 FROM sign_in_tokens WHERE hash = ?7))',
      [token.hash, tx.now, token.expiresAt, token.origin.address, token.origin.client, token.userId, token.asker],
    )
  ).changes === 1

export const extendSignInToken = async (tx: Transaction, hash: string, expiresAt: string): Promise<void> => {
  tx.enqueue('UPDATE sign_in_tokens SET expires_at = ? WHERE hash = ?', [expiresAt, hash])
}

/** Records when a sign-in was last used. */
export const setSignInUsed = async (tx: Transaction, hash: string, at: string): Promise<void> => {
  tx.enqueue('UPDATE sign_in_tokens SET last_used_at = ? WHERE hash = ?', [at, hash])
}

/** An account's sign-ins that have not expired, the newest first. */
export const listSignIns = (db: Reader, userId: number, now: string): Promise<ListedSignIn[]> =>
  db.all(
    'SELECT id, hash, created_at AS createdAt, last_used_at AS lastUsedAt, expires_at AS expiresAt, address, client FROM sign_in_tokens WHERE user_id = ? AND expires_at > ? ORDER BY id DESC',
    [userId, now],
  )

/** Ends a sign-in of an account. @returns its hash, if there was one */
export const deleteSignIn = async (tx: Transaction, userId: number, id: number): Promise<string | undefined> =>
  (
    await tx.all<{ hash: string }>('DELETE FROM sign_in_tokens WHERE id = ? AND user_id = ? RETURNING hash', [
      id,
      userId,
    ])
  )[0]?.hash

/** Ends every sign-in of an account except the one with this hash, and returns their hashes. */
export const deleteOtherSignIns = async (tx: Transaction, userId: number, hash: string): Promise<string[]> =>
  (
    await tx.all<{ hash: string }>('DELETE FROM sign_in_tokens WHERE user_id = ? AND hash <> ? RETURNING hash', [
      userId,
      hash,
    ])
  ).map(each => each.hash)

export const deleteSignInToken = async (tx: Transaction, hash: string): Promise<void> => {
  tx.enqueue('DELETE FROM sign_in_tokens WHERE hash = ?', [hash])
}

/** Ends every sign-in of an account. */
export const deleteSignInTokensOf = async (tx: Transaction, userId: number): Promise<void> => {
  tx.enqueue('DELETE FROM sign_in_tokens WHERE user_id = ?', [userId])
}

/** Ends every sign-in. */
export const deleteAllSignInTokens = async (tx: Transaction): Promise<void> => {
  tx.enqueue('DELETE FROM sign_in_tokens')
}

/** Carries a sign-in over to a restored board, if an account with its address exists there. */
export const keepSignInToken = async (
  tx: Transaction,
  { hash, email, expiresAt, address, client }: { hash: string; email: string; expiresAt: string } & Origin,
): Promise<void> => {
  tx.enqueue(
    'INSERT INTO sign_in_tokens (hash, user_id, created_at, last_used_at, expires_at, address, client) SELECT ?1, id, ?2, ?2, ?3, ?4, ?5 FROM users WHERE email = ?6',
    [hash, tx.now, expiresAt, address, client, email],
  )
}

/** Deletes tokens that expired before the time. */
export const forgetSignInTokens = async (tx: Transaction, before: string): Promise<void> => {
  tx.enqueue('DELETE FROM sign_in_tokens WHERE expires_at < ?', [before])
}
