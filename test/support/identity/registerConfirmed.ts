import type { Client } from '../../../src/client/index.ts'
import type { TestBoard } from '../servers/testBoard.ts'

type Account = Parameters<Client['auth']['register']>[0]

/** Registers an account, and confirms its address like an administrator: it becomes a member immediately when it is added. */
export async function registerConfirmed(
  board: Pick<TestBoard, 'as' | 'client'>,
  account: Account,
): ReturnType<Client['auth']['register']> {
  const signedIn = await board.as().auth.register(account)
  await board.client.users.update({ id: signedIn.user.id, addressVerified: true })
  return signedIn
}
