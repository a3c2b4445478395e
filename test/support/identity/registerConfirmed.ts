import type { Client } from '../../../src/client/index.ts'
import type { TestBoard } from '../servers/testBoard.ts'

type Account = Parameters<Client['auth']['register']>[0]

/** Registers an account, and confirms its address as an administrator does: it becomes a member at once where somebody adds it. */
export async function registerConfirmed(
  board: Pick<TestBoard, 'as' | 'client'>,
  account: Account,
): ReturnType<Client['auth']['register']> {
  const signedIn = await board.as().auth.register(account)
  await board.client.users.update({ id: signedIn.user.id, addressVerified: true })
  return signedIn
}
