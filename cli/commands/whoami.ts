import type { Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import { openContext } from '../context/context.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'

/** `tokenFrom` is where this command line found the token. */
type Me = Output<Contract['auth']['me']> & { tokenFrom: string | null }

const kinds: Record<Me['token']['kind'], string> = {
  key: 'API key',
  'sign-in': 'sign-in',
  agent: "an agent's",
  local: 'local',
  none: 'none: authentication is off',
}

const fields: Column<Me>[] = [
  { name: 'id', style: 'id', value: me => me.id },
  { name: 'email', style: 'title', value: me => me.email },
  { name: 'displayName', header: 'Name', value: me => me.displayName },
  { name: 'role', value: me => me.role },
  { name: 'token', value: ({ token }) => `${kinds[token.kind]}${token.name === null ? '' : ` "${token.name}"`}` },
  { name: 'for', value: ({ token }) => scopeOf(token) },
  {
    name: 'permissions',
    value: ({ token }) => token.permissions ?? (token.kind === 'agent' ? 'its tools' : 'all of the account'),
  },
  { name: 'until', style: 'time', value: ({ token }) => token.expiresAt },
  { name: 'tokenFrom', header: 'Found in', value: me => me.tokenFrom },
]

export function register(command: Command): void {
  prints(command, 'auth.me', 'tokenFrom')
  example(
    command.description('Show the owner, kind, permissions, expiration and source of the token.'),
    'board whoami',
    'board whoami --json --jq .token.permissions',
  ).action(async () => {
    const { client, selection, out } = await openContext(command)
    await out.record({ ...(await client.auth.me()), tokenFrom: selection.token?.from ?? null }, fields)
  })
}

function scopeOf({ scope, organizationId, projectId, cardId }: Me['token']): string {
  if (scope === 'card') return `card ${cardId} of project ${projectId}`
  if (scope === 'project') return `project ${projectId}`
  return scope === 'organization' ? `organization ${organizationId}` : 'the whole server'
}
