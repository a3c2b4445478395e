import type { Reader, Transaction } from '../store/engine/database.ts'
import { dropTicket, hasTicket, keepTicket } from '../store/accounts/tickets.ts'
import { hasUsers } from '../store/accounts/users.ts'

/** Browser sign-ins before the first account exists are tickets, because rows of `sign_in_tokens` need an account. */
const kind = 'operator sign-in'
const maxKept = 100

export const keepOperatorSignIn = (tx: Transaction, tokenHash: string, lifeMs: number): Promise<void> =>
  keepTicket(tx, { kind, key: tokenHash, value: '', lifeMs }, maxKept)

/** Whether a token is a browser sign-in of the local operator. False once there are accounts. */
export const isOperatorSignIn = async (db: Reader, tokenHash: string): Promise<boolean> =>
  (await hasTicket(db, kind, tokenHash)) && !(await hasUsers(db))

export const endOperatorSignIn = (tx: Transaction, tokenHash: string): Promise<void> => dropTicket(tx, kind, tokenHash)
