import { Problem } from '../contract/errors.ts'
import type { ProjectRole } from '../contract/route.ts'
import { isAdmin, type Caller } from './caller.ts'
import type { Reader } from '../store/database.ts'
import { readOrganization } from '../store/organizations.ts'
import { readGrant, type Grant } from '../store/projects.ts'

const rank: Record<ProjectRole, number> = { viewer: 1, member: 2, admin: 3 }

/**
 * The caller's role in a project, or undefined when the project does not exist or the caller may not see it.
 * An API key reaches the projects of its scope only.
 */
export async function projectRole(db: Reader, caller: Caller, projectId: number): Promise<ProjectRole | undefined> {
  const grant =
    caller.grant?.projectId === projectId ? caller.grant.held : await readGrant(db, caller.userId, projectId)
  if (!grant || !isInScope(caller, projectId, grant.projectOrganizationId)) return undefined
  return roleBy(caller, grant)
}

/** The role that grants give, or an administrator has anyway; undefined for none. */
export function roleBy(
  caller: Caller,
  grant: Pick<Grant, 'projectRole' | 'organizationRole'> & { ownerId: number | null },
): ProjectRole | undefined {
  if (isAdmin(caller) || grant.ownerId === caller.userId || grant.organizationRole === 'admin') return 'admin'
  return strongest([grant.projectRole, grant.organizationRole])
}

/** The first in rank of some roles; undefined for none. */
export const strongest = (roles: ReadonlyArray<ProjectRole | null | undefined>): ProjectRole | undefined =>
  roles.filter(role => role !== null && role !== undefined).sort((a, b) => rank[b] - rank[a])[0]

/** Whether a role is at least the one that is needed. */
export const suffices = (role: ProjectRole, needed: ProjectRole): boolean => rank[role] >= rank[needed]

/**
 * Requires at least the role `needed`.
 * @throws Problem `notFound` when the caller may not even see the project, FORBIDDEN when the role does not suffice
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
  if (!suffices(role, needed)) throw new Problem('FORBIDDEN', `This needs the project role ${needed}.`)
  return role
}

/**
 * The caller's role in an organization; undefined for a missing one and for a non-member. The server's administrators
 * are admins of all.
 */
export async function organizationRole(
  db: Reader,
  caller: Caller,
  organizationId: number,
): Promise<'admin' | 'member' | undefined> {
  const organization = await readOrganization(db, caller.userId, organizationId)
  return organization && isAdmin(caller) ? 'admin' : (organization?.role ?? undefined)
}

/** Whether a project is within the scope of the caller's key, if it has one. */
export function isInScope({ key }: Caller, projectId: number, organizationId: number | null): boolean {
  if (!key || key.scope === 'server') return true
  return key.scope === 'project'
    ? key.projectId === projectId
    : key.organizationId === organizationId && organizationId !== null
}
