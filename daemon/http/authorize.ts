import type { Peer } from '../../src/identity/peer.ts'
import { Problem, type ErrorCode } from '../../src/contract/errors.ts'
import type { Permission, ProjectRole, Route, Who } from '../../src/contract/route.ts'
import { organizationRole, requireRole } from '../../src/domain/accounts/access.ts'
import { isAdmin, type Caller } from '../../src/domain/accounts/caller.ts'
import { projectOfAttachment } from '../../src/store/cards/attachments.ts'
import { projectOfCard } from '../../src/store/cards/cards.ts'
import type { Reader } from '../../src/store/engine/database.ts'

type Params = Record<string, unknown>

/** Whether a route is open to this peer without a token. */
export const isOpenTo = ({ who }: Route, peer: Peer): boolean | Promise<boolean> =>
  who.kind === 'local' ? peer.isOwn() : who.kind === 'public'

/**
 * Enforces a row's `who`, for every route in this one place, and returns the caller's role in the project or organization.
 * An invisible resource is answered exactly like a missing one.
 */
export async function authorize(db: Reader, route: Route, caller: Caller, input: Params): Promise<ProjectRole> {
  const { who } = route
  if (who.kind === 'token') return 'viewer'
  if (who.kind === 'agent') return requireAgent(caller, input)
  if (caller.kind === 'agent') throw new Problem('FORBIDDEN', 'This route is not open to agent tokens.')
  if (who.kind === 'key') return requireKey(db, who, caller, input)
  if (who.kind === 'member') return requireMember(db, who, caller, input)
  if (who.kind === 'super' && who.permission && caller.key) return requireServerKey(who.permission, caller)
  if (who.kind === 'user' && who.permission && caller.key) return requirePermission(who.permission, caller)
  if (caller.kind === 'key') throw new Problem('INSUFFICIENT_PERMISSIONS', 'This route is not open to API keys.')
  if (who.kind === 'organization') return requireOrganizationRole(db, who, caller, input)
  if ((who.kind === 'super' || who.kind === 'local') && caller.role !== 'super_admin') throw new Problem('FORBIDDEN')
  if (who.kind === 'admin' && !isAdmin(caller)) throw new Problem('FORBIDDEN')
  return 'viewer'
}

function requireAgent({ agent }: Caller, { projectId, cardId }: Params): ProjectRole {
  if (agent?.cardId !== cardId || agent?.projectId !== projectId) throw new Problem('AGENT_TOKEN_REQUIRED')
  if (agent?.isReviewer) throw new Problem('FORBIDDEN', 'This route is not open to reviewers.')
  return 'member'
}

function requireKey(db: Reader, who: Who & { kind: 'key' }, caller: Caller, input: Params): Promise<ProjectRole> {
  if (!caller.key)
    throw new Problem('UNAUTHENTICATED', 'External routes require an API key: send Authorization: Bearer svc_ak_...')
  if (!who.permissions.some(permission => caller.key!.permissions.includes(permission)))
    throw new Problem('INSUFFICIENT_PERMISSIONS', `The API key lacks the permission ${who.permissions.join(' or ')}.`)
  return requireRole(
    db,
    caller,
    input.projectId as number,
    who.permissions.includes('cards.read') ? 'viewer' : 'member',
    () => new Problem('PROJECT_NOT_FOUND'),
  )
}

function requirePermission(permission: Permission, { key }: Caller): ProjectRole {
  if (!key!.permissions.includes(permission))
    throw new Problem('INSUFFICIENT_PERMISSIONS', `The API key lacks the permission ${permission}.`)
  return 'viewer'
}

/** Requires a key of server scope whose owner is currently a super_admin. */
function requireServerKey(permission: Permission, caller: Caller): ProjectRole {
  requirePermission(permission, caller)
  const { key, role } = caller
  if (key!.scope !== 'server' || role !== 'super_admin')
    throw new Problem(
      'INSUFFICIENT_PERMISSIONS',
      'This route is open to API keys of server scope that belong to a super_admin.',
    )
  return 'viewer'
}

async function requireMember(
  db: Reader,
  who: Who & { kind: 'member' },
  caller: Caller,
  input: Params,
): Promise<ProjectRole> {
  if (caller.key && !(who.permission && caller.key.permissions.includes(who.permission)))
    throw new Problem(
      'INSUFFICIENT_PERMISSIONS',
      who.permission ? `The API key lacks the permission ${who.permission}.` : 'This route is not open to API keys.',
    )
  const { find, code } = paths[who.through]
  const projectId = await find(db, input)
  if (projectId === undefined) throw new Problem(code)
  return requireRole(db, caller, projectId, who.role, () => new Problem(code))
}

async function requireOrganizationRole(
  db: Reader,
  who: Who & { kind: 'organization' },
  caller: Caller,
  input: Params,
): Promise<ProjectRole> {
  const role = await organizationRole(db, caller, input[who.through] as number)
  if (!role) throw new Problem('ORGANIZATION_NOT_FOUND')
  if (who.role === 'admin' && role !== 'admin')
    throw new Problem('FORBIDDEN', 'This requires the organization role admin.')
  return role
}

/** The project that a route is about, once its input was authorized. */
export const projectOf = async (db: Reader, { who }: Route, input: Params): Promise<number | undefined> =>
  who.kind === 'member' ? paths[who.through].find(db, input) : (input.projectId as number | undefined)

/** Maps each kind of ID in an input to the look-up of its project, and the error code if it does not exist. */
const paths: Record<
  (Who & { kind: 'member' })['through'],
  { find: (db: Reader, input: Params) => number | undefined | Promise<number | undefined>; code: ErrorCode }
> = {
  projectId: { find: (_, input) => input.projectId as number, code: 'PROJECT_NOT_FOUND' },
  id: { find: (_, input) => input.id as number, code: 'PROJECT_NOT_FOUND' },
  flatCard: { find: (db, input) => projectOfCard(db, input.id as number), code: 'CARD_NOT_FOUND' },
  attachmentId: {
    find: (db, input) => projectOfAttachment(db, input.attachmentId as number),
    code: 'ATTACHMENT_NOT_FOUND',
  },
}
