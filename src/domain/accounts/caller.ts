import type { UserRole } from '../../contract/fields.ts'
import type { Permission } from '../../contract/route.ts'
import type { Grant } from '../../store/projects/projects.ts'

/** The authenticated sender of a request. */
export interface Caller {
  kind: 'user' | 'local' | 'key' | 'agent'
  /** The account whose permissions apply; `localOperator` before the first user exists, `noAccount` for an agent. */
  userId: number
  role: UserRole
  email: string
  displayName: string
  /** SHA-256 of the token, hexadecimal; empty without a token, when authentication is off. */
  tokenHash: string
  /** The sign-in that the token belongs to. */
  signInId?: number
  /** The limits of an API key, in addition to its owner's permissions. */
  key?: {
    id: number
    name: string
    permissions: readonly Permission[]
    scope: 'server' | 'organization' | 'project'
    organizationId: number | null
    projectId: number | null
  }
  /** The account's grant in the request's project, read with the token. */
  grant?: { projectId: number; held: Grant | undefined }
  /** The scope of an agent token: it has only the permissions of its card. It belongs to a session, or acts for the user who created it. */
  agent?: {
    projectId: number
    cardId: number
    sessionId: number | null
    userId: number | null
    /** The agent reviews for a gate: it reads, and submits its review. */
    isReviewer: boolean
  }
}

/** The account of a caller without one. It has no projects. */
export const noAccount = -1

/** Whether the caller is an administrator of the server. */
export const isAdmin = ({ role }: Pick<Caller, 'role'>): boolean => role === 'super_admin' || role === 'admin'

/** The name of a caller. */
export const nameOf = ({ displayName, email }: Pick<Caller, 'displayName' | 'email'>): string =>
  displayName || email || 'the operator'
