import { invalid, Problem } from '../../contract/errors.ts'
import { organizationRole } from './access.ts'
import type { Caller } from './caller.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  deleteOrganization,
  deleteOrganizationMember,
  hasOtherOrganizationAdmin,
  hasProjects,
  insertOrganization,
  listOrganizations,
  organizationsManagedAlone,
  readOrganization,
  readOrganizationMember,
  renameOrganization,
  setOrganizationRole,
  type OrganizationMemberRow,
  type OrganizationRow,
} from '../../store/accounts/organizations.ts'
import { forgetAcceptanceIn } from '../../store/projects/projects.ts'
import { findUserByEmail, ownerFor } from '../../store/accounts/users.ts'

type Role = OrganizationMemberRow['role']
export interface OrganizationMemberRef {
  id: number
  userId: number
}

/** An organization as the caller sees it. @throws Problem ORGANIZATION_NOT_FOUND */
export async function find(db: Reader, caller: Caller, id: number): Promise<OrganizationRow> {
  const organization = await readOrganization(db, caller.userId, id)
  if (!organization) throw new Problem('ORGANIZATION_NOT_FOUND')
  return organization
}

/**
 * An organization that the caller administers: the named one, or without a name the only one.
 * @throws Problem ORGANIZATION_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED without a name when there is none or more than one
 */
export async function findAdministered(db: Reader, caller: Caller, id?: number): Promise<OrganizationRow> {
  if (id === undefined) {
    const [only, ...others] = (await listOrganizations(db, caller.userId)).filter(({ role }) => role === 'admin')
    if (!only || others.length > 0)
      throw invalid(
        'organizationId',
        `is required: you administer ${only ? 'several organizations' : 'no organization'}`,
      )
    return only
  }
  const role = await organizationRole(db, caller, id)
  if (role === 'member') throw new Problem('FORBIDDEN', 'This requires the organization role admin.')
  if (!role) throw new Problem('ORGANIZATION_NOT_FOUND')
  return find(db, caller, id)
}

/** Creates an organization. Its creator becomes its admin. */
export async function create(tx: Transaction, caller: Caller, name: string): Promise<OrganizationRow> {
  const id = await insertOrganization(tx, name)
  const userId = await ownerFor(tx, caller.userId)
  await setOrganizationRole(tx, id, userId, 'admin')
  return find(tx, { ...caller, userId }, id)
}

/** @throws Problem ORGANIZATION_NOT_FOUND */
export async function update(
  tx: Transaction,
  caller: Caller,
  id: number,
  { name }: { name?: string },
): Promise<OrganizationRow> {
  if (name !== undefined) await renameOrganization(tx, id, name)
  return find(tx, caller, id)
}

/** @throws Problem ORGANIZATION_HAS_PROJECTS */
export async function remove(tx: Transaction, id: number): Promise<void> {
  if (await hasProjects(tx, id)) throw new Problem('ORGANIZATION_HAS_PROJECTS')
  await deleteOrganization(tx, id)
}

/**
 * Adds an account as a member. Its address must be verified: registering with an address does not prove that it is one's own.
 * @throws Problem ORGANIZATION_NOT_FOUND, USER_NOT_FOUND, CONFLICT, ADDRESS_UNVERIFIED
 */
export async function addMember(
  tx: Transaction,
  caller: Caller,
  id: number,
  { email, role }: { email: string; role: Role },
): Promise<OrganizationMemberRow> {
  await find(tx, caller, id)
  const user = await findUserByEmail(tx, email)
  if (!user) throw new Problem('USER_NOT_FOUND', `No user has the address ${email}.`)
  if (await readOrganizationMember(tx, id, user.id)) throw new Problem('CONFLICT', `${user.email} is already a member.`)
  if (user.selfRegistered === 1) throw new Problem('ADDRESS_UNVERIFIED')
  await setOrganizationRole(tx, id, user.id, role)
  return findMember(tx, { id, userId: user.id })
}

/** @throws Problem MEMBER_NOT_FOUND, LAST_ORGANIZATION_ADMIN */
export async function updateMember(
  tx: Transaction,
  ref: OrganizationMemberRef,
  role: Role,
): Promise<OrganizationMemberRow> {
  const member = await findMember(tx, ref)
  if (role !== 'admin') await requireOtherAdmin(tx, ref, member)
  await setOrganizationRole(tx, ref.id, ref.userId, role)
  return { ...member, role }
}

/**
 * Ends a membership: the caller's own, or, as an admin, any membership.
 * @throws Problem FORBIDDEN, MEMBER_NOT_FOUND, LAST_ORGANIZATION_ADMIN
 */
export async function removeMember(
  tx: Transaction,
  caller: Caller,
  isManager: boolean,
  ref: OrganizationMemberRef,
): Promise<void> {
  if (!isManager && ref.userId !== caller.userId)
    throw new Problem('FORBIDDEN', 'Only an admin of the organization can remove other members.')
  await requireOtherAdmin(tx, ref, await findMember(tx, ref))
  await deleteOrganizationMember(tx, ref.id, ref.userId)
  await forgetAcceptanceIn(tx, ref.userId, ref.id)
}

/** Makes the account `to` an admin of every organization whose only admin is `from`. */
export async function reassign(tx: Transaction, from: number, to: number): Promise<void> {
  for (const id of await organizationsManagedAlone(tx, from)) await setOrganizationRole(tx, id, to, 'admin')
}

async function findMember(db: Reader, { id, userId }: OrganizationMemberRef): Promise<OrganizationMemberRow> {
  const member = await readOrganizationMember(db, id, userId)
  if (!member) throw new Problem('MEMBER_NOT_FOUND')
  return member
}

async function requireOtherAdmin(
  tx: Transaction,
  { id, userId }: OrganizationMemberRef,
  { role }: OrganizationMemberRow,
): Promise<void> {
  if (role === 'admin' && !(await hasOtherOrganizationAdmin(tx, id, userId)))
    throw new Problem('LAST_ORGANIZATION_ADMIN')
}
