import { Problem } from '../contract/errors.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { hashToken, createToken } from '../domain/accounts/token.ts'
import type { Database } from '../store/engine/database.ts'
import { insertSignInOf, type Origin } from '../store/accounts/signInTokens.ts'
import { hasUsers, localOperator, readAccount } from '../store/accounts/users.ts'
import type { SignedInUser } from './accounts.ts'
import { operatorAccount, signInMs } from './authenticate.ts'
import { keepOperatorSignIn } from './operatorSignIns.ts'
import type { Seal } from './seal.ts'
import { createTickets, type Tickets } from './tickets.ts'

/** A ticket's lifetime. */
const ticketMs = 60_000
const maxTickets = 10_000

interface Granted {
  userId: number
  /** The sign-in that requested the ticket. Null for the server's own OS account. */
  asker: string | null
}

/** Tickets that sign a browser in on behalf of a program: single use, within a minute. */
export type BrowserTickets = Tickets<Granted>

export const createBrowserTickets = (place: { db: Database; seal: Seal }): BrowserTickets =>
  createTickets('browser', place, { maxKept: maxTickets, lifeMs: ticketMs })

/** Creates a ticket for the caller's account. */
export async function issueTicket(
  tickets: BrowserTickets,
  { userId, kind, tokenHash }: Caller,
  now: Date,
): Promise<{ ticket: string; expiresAt: string }> {
  const ticket = createToken('svc_bt_')
  await tickets.keep(ticket, { userId, asker: kind === 'user' ? tokenHash : null })
  return { ticket, expiresAt: new Date(now.getTime() + ticketMs).toISOString() }
}

/**
 * Exchanges a browser's ticket for a sign-in. Before the first account exists, that is a sign-in of the local operator, which
 * ends with the first account.
 * @throws Problem INVALID_CREDENTIALS if the ticket was used, has expired, or the sign-in that requested it has ended
 */
export async function redeemTicket(
  { db, tickets }: { db: Database; tickets: BrowserTickets },
  ticket: string,
  origin: Origin,
): Promise<SignedInUser> {
  const granted = await tickets.take(ticket)
  if (!granted)
    throw new Problem(
      'INVALID_CREDENTIALS',
      'The link was already used, or is more than a minute old. Create another one.',
    )
  return db.transaction(async tx => {
    const token = createToken('svc_st_')
    if (granted.userId === localOperator) {
      if (await hasUsers(tx)) throw new Problem('INVALID_CREDENTIALS', 'The server now has accounts. Sign in with one.')
      await keepOperatorSignIn(tx, hashToken(token), signInMs)
      const { userId: id, ...account } = operatorAccount
      return { token, user: { ...account, id } }
    }
    const isStored = await insertSignInOf(tx, {
      ...granted,
      origin,
      hash: hashToken(token),
      expiresAt: new Date(Date.parse(tx.now) + signInMs).toISOString(),
    })
    const user = isStored ? await readAccount(tx, granted.userId) : undefined
    if (!user) throw new Problem('INVALID_CREDENTIALS', 'The user who requested the link has signed out.')
    return { token, user }
  })
}
