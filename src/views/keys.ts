import type { InferOutput } from 'valibot'
import type { Key, NewKey } from '../contract/keys.ts'
import type { Permission } from '../contract/route.ts'
import type { KeyRow } from '../store/keys.ts'

const idOrNull = (id: number | null) => (id === null ? null : String(id))

/** An API key as its owner sees it: never the key itself. */
export const key = (row: KeyRow): InferOutput<typeof Key> => ({
  id: String(row.id),
  name: row.name,
  scope: row.scope,
  organizationId: idOrNull(row.organizationId),
  projectId: idOrNull(row.projectId),
  permissions: JSON.parse(row.permissions) as Permission[],
  prefix: 'svc_ak_',
  lastFour: row.lastFour,
  createdAt: row.createdAt,
  expiresAt: row.expiresAt,
  lastUsedAt: row.lastUsedAt,
})

/** A key with its secret, for the one answer that shows it. */
export const newKey = ({ row, token }: { row: KeyRow; token: string }): InferOutput<typeof NewKey> => ({
  ...key(row),
  key: token,
})
