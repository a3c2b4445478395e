import type { InferOutput } from 'valibot'
import type { Organization } from '../contract/organizations.ts'
import type { OrganizationRow } from '../store/organizations.ts'

/** An administrator of the server manages also what he or she does not belong to. */
export const organization = (row: OrganizationRow): InferOutput<typeof Organization> => ({ id: String(row.id), name: row.name, role: row.role ?? 'admin', createdAt: row.createdAt })
