import type { InferOutput } from 'valibot'
import type { Organization, OrganizationMember } from '../contract/accounts/organizations.ts'
import type { OrganizationMemberRow, OrganizationRow } from '../store/accounts/organizations.ts'

/** An organization as one account sees it. Server administrators also manage organizations in which they have no role. */
export const organization = ({
  id,
  name,
  role,
  defaultCredentialId,
  createdAt,
}: OrganizationRow): InferOutput<typeof Organization> => ({
  id: String(id),
  name,
  role,
  defaultCredentialId: defaultCredentialId === null ? null : String(defaultCredentialId),
  createdAt,
})

export const organizationMember = ({
  userId,
  email,
  displayName,
  role,
}: OrganizationMemberRow): InferOutput<typeof OrganizationMember> => ({
  userId: String(userId),
  email,
  displayName,
  role,
})
