import { Problem } from '../../contract/errors.ts'
import type { ProjectRole } from '../../contract/route.ts'
import { isAdmin, type Caller } from './caller.ts'
import type { Reader } from '../../store/engine/database.ts'
import { readOrganization } from '../../store/accounts/organizations.ts'
import { readGrant, type Grant } from '../../store/projects/projects.ts'

const rank: Record<ProjectRole, number> = { viewer: 1, member: 2, admin: 3 }

/**
 * The caller's role in a project. Undefined if the project does not exist or the caller cannot see it. An API key has access only
 * to the projects of its scope.
 */
export async function projectRole(db: Reader, caller: Caller, projectId: number): Promise<ProjectRole | undefined> {
  const grant =
    caller.grant?.projectId === projectId ? caller.grant.held : await readGrant(db, caller.userId, projectId)
  if (!grant || !isInScope(caller, projectId, grant.projectOrganizationId)) return undefined
  return roleBy(caller, grant)
}

/** The role from the grants, or the implicit role of an administrator. Undefined if there is none. */
export function roleBy(
  caller: Caller,
  grant: Pick<Grant, 'projectRole' | 'organizationRole'> & { ownerId: number | null },
): ProjectRole | undefined {
  if (isAdmin(caller) || grant.ownerId === caller.userId || grant.organizationRole === 'admin') return 'admin'
  return highestRole([grant.projectRole, grant.organizationRole])
}

/** The highest of the roles. Undefined if there is none. */
export const highestRole = (roles: ReadonlyArray<ProjectRole | null | undefined>): ProjectRole | undefined =>
  roles.filter(role => role !== null && role !== undefined).sort((a, b) => rank[b] - rank[a])[0]

/** Whether a role is at least the required one. */
export const isSufficient = (role: ProjectRole, needed: ProjectRole): boolean => rank[role] >= rank[needed]

/**
 * Requires at least the role `needed`.
 * @throws Problem `notFound` if the caller cannot see the project, FORBIDDEN if the role does not suffice
 */
export async function requireRole(
  db: Reader,
  caller: Caller,
  projectId: number,
  needed: ProjectRole,
  notFound: () => Problem,
): Promise<ProjectRole> {
  const role = await projectRole(db, caller, projectId)
  if (!role) throw notFound()
  if (!isSufficient(role, needed)) throw new Problem('FORBIDDEN', `This requires the project role ${needed}.`)
  return role
}

/** Whether a caller can skip the gates of a project: its admins, who are not agents. */
export const maySkipGates = async (db: Reader, caller: Caller, projectId: number): Promise<boolean> =>
  caller.kind !== 'agent' && (await projectRole(db, caller, projectId)) === 'admin'
/** Requires that a caller can skip the gates of a project. @throws Problem FORBIDDEN */
export async function requireMaySkipGates(db: Reader, caller: Caller, projectId: number): Promise<void> {
  if (!(await maySkipGates(db, caller, projectId)))
    throw new Problem(
      'FORBIDDEN',
      'This could let cards bypass the gates of the board. Only a project admin can do this.',
    )
}

/**
 * The caller's role in an organization. Undefined for a missing organization and for a non-member. The server's administrators
 * are admins of all organizations.
 */
export async function organizationRole(
  db: Reader,
  caller: Caller,
  organizationId: number,
): Promise<'admin' | 'member' | undefined> {
  const organization = await readOrganization(db, caller.userId, organizationId)
  return organization && isAdmin(caller) ? 'admin' : (organization?.role ?? undefined)
}

/** Whether a project is within the scope of the caller's key. True if the caller has no key. */
export function isInScope({ key }: Caller, projectId: number, organizationId: number | null): boolean {
  if (!key || key.scope === 'server') return true
  return key.scope === 'project'
    ? key.projectId === projectId
    : key.organizationId === organizationId && organizationId !== null
}
