import type { InferOutput } from 'valibot'
import type { Me, SignedIn } from '../contract/auth.ts'
import type { UserRow } from '../store/users.ts'

type Account = InferOutput<typeof Me>

/** The local operator has the id "0". */
export const user = ({ id, email, displayName, role }: UserRow): Account => ({ id: String(id), email, displayName, role })

export const signedIn = ({ token, user: row }: { token: string; user: UserRow }): InferOutput<typeof SignedIn> => ({ token, user: user(row) })

/** An account as other people find it. */
export const foundUser = ({ id, email, displayName }: UserRow): Omit<Account, 'role'> => ({ id: String(id), email, displayName })
