import type { Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { openUserContext } from '../../context/context.ts'
import type { Column } from '../../output/output.ts'
import { askSecret, readStdin } from '../../input/prompt.ts'
import { newPassword } from './sign.ts'

type SignIn = Output<Contract['auth']['sessions']>[number]

const columns: Column<SignIn>[] = [
  { name: 'id', style: 'id', align: 'right', value: signIn => signIn.id },
  { name: 'current', header: 'THIS ONE', value: signIn => signIn.current },
  { name: 'lastUsedAt', header: 'USED', style: 'time', value: signIn => signIn.lastUsedAt },
  { name: 'createdAt', header: 'SINCE', style: 'time', value: signIn => signIn.createdAt },
  { name: 'address', value: signIn => signIn.address },
  { name: 'client', style: 'text', value: signIn => signIn.client },
]

/** Lists the sign-ins of the account, or ends one of them. */
export async function listOrEndSignIns(command: Command, { end }: { end?: string }): Promise<void> {
  const context = await openUserContext(command)
  if (end === undefined)
    return context.out.list(await context.client.auth.sessions(), columns, { empty: 'You have no sign-ins.' })
  await context.client.auth.endSession({ id: end })
  context.out.done(`Ended sign-in ${end}.`)
}

/** Changes the user's own password. */
export async function changePassword(command: Command, { passwordStdin }: { passwordStdin?: boolean }): Promise<void> {
  const context = await openUserContext(command)
  const [currentPassword = '', newOne = ''] = passwordStdin
    ? (await readStdin('--password-stdin')).split(/\r?\n/)
    : [await askSecret(context, 'Current password', '--password-stdin'), await newPassword(context, {})]
  await context.client.auth.setPassword({ currentPassword, newPassword: newOne })
  context.out.done('Changed the password. All other sign-ins of the account have ended.')
}
