import { Problem } from '../contract/errors.ts'
import type { ProjectRole } from '../contract/route.ts'
import { isAdmin, type Caller } from './caller.ts'
import type { Reader } from '../store/database.ts'
import { readOrganization } from '../store/organizations.ts'
import { readGrant } from '../store/projects.ts'

const rank: Record<ProjectRole, number> = { viewer: 1, member: 2, admin: 3 }

/**
 * The caller's role in a project, or undefined when the project does not exist or the caller may not see it.
 * An API key reaches the projects of its scope only.
 */
export async function projectRole(db: Reader, caller: Caller, projectId: number): Promise<ProjectRole | undefined> {
  const grant =
    caller.grant?.projectId === projectId ? caller.grant.held : await readGrant(db, caller.userId, projectId)
  if (!grant || !withinScope(caller, projectId, grant.projectOrganizationId)) return undefined
  if (isAdmin(caller) || grant.ownerId === caller.userId || grant.organizationRole === 'admin') return 'admin'
  const roles = [grant.projectRole, grant.organizationRole].filter((role): role is ProjectRole => role !== null)
  return roles.sort((a, b) => rank[b] - rank[a])[0]
}

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
  if (rank[role] < rank[needed]) throw new Problem('FORBIDDEN', `This needs the project role ${needed}.`)
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

function withinScope({ key }: Caller, projectId: number, organizationId: number | null): boolean {
  if (!key || key.scope === 'server') return true
  return key.scope === 'project'
    ? key.projectId === projectId
    : key.organizationId === organizationId && organizationId !== null
}
