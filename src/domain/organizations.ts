import { Problem } from '../contract/errors.ts'
import { isAdmin, type Caller } from './caller.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { deleteOrganization, hasProjects, insertOrganization, insertOrganizationMember, readOrganization, renameOrganization, type OrganizationRow } from '../store/organizations.ts'

/** An organization that the caller belongs to; administrators of the server see all of them. @throws Problem ORGANIZATION_NOT_FOUND */
export async function find(db: Reader, caller: Caller, id: number): Promise<OrganizationRow> {
  const organization = await readOrganization(db, caller.userId, id)
  if (!organization || (organization.role === null && !isAdmin(caller))) throw new Problem('ORGANIZATION_NOT_FOUND')
  return organization
}

/** Creates an organization. Its creator becomes its admin. */
export async function create(tx: Transaction, caller: Caller, name: string): Promise<OrganizationRow> {
  const id = await insertOrganization(tx, name)
  await insertOrganizationMember(tx, id, caller.userId, 'admin')
  return find(tx, caller, id)
}

/** @throws Problem ORGANIZATION_NOT_FOUND, FORBIDDEN */
export async function update(tx: Transaction, caller: Caller, id: number, { name }: { name?: string }): Promise<OrganizationRow> {
  await findManaged(tx, caller, id)
  if (name !== undefined) await renameOrganization(tx, id, name)
  return find(tx, caller, id)
}

/** @throws Problem ORGANIZATION_NOT_FOUND, FORBIDDEN, ORGANIZATION_HAS_PROJECTS */
export async function remove(tx: Transaction, caller: Caller, id: number): Promise<void> {
  await findManaged(tx, caller, id)
  if (await hasProjects(tx, id)) throw new Problem('ORGANIZATION_HAS_PROJECTS')
  await deleteOrganization(tx, id)
}

/** An organization that the caller may change. @throws Problem ORGANIZATION_NOT_FOUND, FORBIDDEN */
async function findManaged(db: Reader, caller: Caller, id: number): Promise<OrganizationRow> {
  const organization = await find(db, caller, id)
  if (organization.role !== 'admin' && !isAdmin(caller)) throw new Problem('FORBIDDEN', 'This needs the organization role admin.')
  return organization
}
