import type { Command } from 'commander'
import { ApiFailure } from '../../../src/client/failures.ts'
import { openContext, type Context } from '../../context/context.ts'
import { selectServer } from '../../context/selectServer.ts'
import { Failure } from '../../failures/failure.ts'
import { globalsOf } from '../../parsing/globals.ts'
import { createOutput } from '../../output/createOutput.ts'
import type { Column } from '../../output/output.ts'

const kinds: Record<string, string> = { svc_ak_: 'API key', svc_st_: 'sign-in', svc_at_: 'agent', svc_lt_: 'local' }

interface Status {
  url: string
  urlFrom: string
  profile: string | null
  profileFrom: string | null
  tokenKind: string | null
  tokenFrom: string | null
  project: string | null
  projectFrom: string | null
  signedIn: boolean
  email: string | null
  role: string | null
  authEnabled: boolean
  hasUsers: boolean
}

const withSource = (value: string | null, source: string | null): string | null =>
  value && source ? `${value} (${source})` : value
const fields: Column<Status>[] = [
  { name: 'url', header: 'Server', value: status => withSource(status.url, status.urlFrom) },
  { name: 'profile', value: status => withSource(status.profile, status.profileFrom) },
  { name: 'tokenKind', header: 'Token', value: status => withSource(status.tokenKind, status.tokenFrom) },
  { name: 'project', value: status => withSource(status.project, status.projectFrom) },
  { name: 'signedIn', value: status => status.signedIn },
  { name: 'email', style: 'title', value: status => status.email },
  { name: 'role', value: status => status.role },
  { name: 'authEnabled', value: status => status.authEnabled },
  { name: 'hasUsers', hidden: true, value: status => status.hasUsers },
]

/** Shows the server, token, profile and project, the source of each, and whether the server accepts the token. */
export async function showStatus(command: Command, { exitStatus }: { exitStatus?: boolean }): Promise<void> {
  const context = await openContext(command)
  const { selection, connection } = context
  const server = await context.client.auth.status()
  const me = await whoIsThis(context)
  const row: Status = {
    url: connection.url,
    urlFrom: selection.url!.from,
    profile: selection.profile?.value ?? null,
    profileFrom: selection.profile?.from ?? null,
    tokenKind: connection.token ? (kinds[connection.token.slice(0, 7)] ?? 'unknown') : null,
    tokenFrom: selection.token?.from ?? null,
    project: selection.project?.value ?? null,
    projectFrom: selection.project?.from ?? null,
    signedIn: me !== undefined,
    email: me?.email ?? null,
    role: me?.role ?? null,
    authEnabled: server.authEnabled,
    hasUsers: server.hasUsers,
  }
  if (!context.out.quiet || context.out.json) await context.out.record(row, fields)
  if (!me && !context.out.json)
    context.out.done(
      server.hasUsers
        ? 'Not signed in. Sign in with: board auth login'
        : 'The server has no accounts yet. Create the first one with: board auth setup',
    )
  if (!me && exitStatus) throw new Failure('denied', 'not signed in', { see: 'board auth login --help' })
}

/** Prints only the token. */
export function printToken(command: Command): void {
  const globals = globalsOf(command)
  const { out, settings } = createOutput(globals)
  const found = selectServer(globals, settings).token
  if (!found)
    throw new Failure('denied', 'there is no token for this server', {
      hint: 'sign in with: board auth login',
      see: 'board auth status',
    })
  out.line(found.value)
}

async function whoIsThis(context: Context): Promise<{ email: string | null; role: string | null } | undefined> {
  try {
    return await context.client.auth.me()
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 401) return undefined
    throw error
  }
}
