import type { UserRole } from '../contract/fields.ts'
import type { Permission } from '../contract/route.ts'
import type { Grant } from '../store/projects.ts'

/** Who sends a request, as its token tells. */
export interface Caller {
  kind: 'user' | 'local' | 'key' | 'agent'
  /** The account whose rights hold; `localOperator` before the first user exists, `noAccount` of an agent. */
  userId: number
  role: UserRole
  email: string
  displayName: string
  /** SHA-256 of the token, hexadecimal; empty for somebody who needs none because authentication is off. */
  tokenHash: string
  /** The sign-in that the token is of. */
  signInId?: number
  /** What an API key is limited to, beside its owner's rights. */
  key?: {
    id: number
    permissions: readonly Permission[]
    scope: 'server' | 'organization' | 'project'
    organizationId: number | null
    projectId: number | null
  }
  /** What ties the account to the project that the request names, as it was when the token was looked up. */
  grant?: { projectId: number; held: Grant | undefined }
  /** What an agent token is for. It has no rights but those of its card. */
  agent?: { projectId: number; cardId: number; sessionId: number | null }
}

/** The account of a caller without one: it owns nothing and belongs to nothing. */
export const noAccount = -1

/** Whether somebody administers the server. */
export const isAdmin = ({ role }: Pick<Caller, 'role'>): boolean => role === 'super_admin' || role === 'admin'
