import type { Command } from 'commander'
import { openContext, requireUser } from '../context.ts'
import { example } from '../help.ts'
import type { Column } from '../output.ts'

export interface Me {
  id: string
  email: string
  displayName: string
  role: string
}

export const meFields: Column<Me>[] = [
  { name: 'id', style: 'id', value: me => me.id },
  { name: 'email', style: 'title', value: me => me.email },
  { name: 'displayName', header: 'Name', value: me => me.displayName },
  { name: 'role', value: me => me.role },
]

export function register(command: Command): void {
  example(command, 'board whoami', 'board whoami --json --jq .email').action(async () => {
    const context = await openContext(command)
    requireUser(context, 'whoami')
    await context.out.record(await context.client.auth.me(), meFields)
  })
}
