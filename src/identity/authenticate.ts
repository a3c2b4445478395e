import type { Peer } from './peer.ts'
import { Problem } from '../contract/errors.ts'
import type { Permission } from '../contract/route.ts'
import { tokenPrefixOf, hashToken } from '../domain/accounts/token.ts'
import { findAgentToken } from '../store/agents/agentTokens.ts'
import type { Reader } from '../store/engine/database.ts'
import { findKeyHolder, findKeyHolderByAccessToken, type KeyHolder } from '../store/accounts/keys.ts'
import { findSignIn } from '../store/accounts/signInTokens.ts'
import {
  hasUsers,
  localOperator,
  localOperatorName,
  readAccount,
  readFirstSuperAdmin,
} from '../store/accounts/users.ts'
import type { Grant, JoinedGrant } from '../store/projects/projects.ts'
import { isOpen } from './authSettings.ts'
import { isOperatorSignIn } from './operatorSignIns.ts'
import { projectRole } from '../domain/accounts/access.ts'
import { noAccount, type Caller } from '../domain/accounts/caller.ts'
import type { AuthContext } from './identity.ts'

const dayMs = 86_400_000
/** A sign-in expires this long after its last use, to the day. */
export const signInMs = 30 * dayMs
const useMs = 60_000

/** The local operator's account as views show it. */
export const operatorAccount = {
  userId: localOperator,
  role: 'super_admin',
  email: '',
  displayName: localOperatorName,
} as const

interface AgentNames {
  catalogue: { /** The display name of an agent. */ nameOf(id: string): Promise<string> }
}

/**
 * Whether another daemon on the same database has signed the request on behalf of the operator of its machine. Undefined
 * without such a header.
 */
export type ForwardCheck = (() => boolean) | undefined

/**
 * Authenticates a request by its `Authorization` header, with one look-up. A request without this header is refused, unless authentication
 * is off and the peer runs under the server's own OS account, or another daemon has signed it.
 * @param projectId the request's project: the caller's grant in it is read by the same look-up where possible
 * @throws Problem UNAUTHENTICATED, TOKEN_EXPIRED
 */
export function authenticate(
  auth: AuthContext & AgentNames,
  authorization: string | undefined,
  peer: Pick<Peer, 'isOwn'>,
  projectId?: number,
  operatorCheck?: ForwardCheck,
): Promise<Caller> {
  if (authorization === undefined && operatorCheck) return operatorCheck() ? localOperatorCaller(auth, '') : refuse()
  if (authorization === undefined) return callerWithoutToken(auth, peer)
  if (!/^Bearer /i.test(authorization)) return refuse('Send Authorization: Bearer <token>.')
  const token = authorization.slice('Bearer '.length).trim()
  switch (tokenPrefixOf(token)) {
    case 'svc_st_':
      return signedIn(auth, hashToken(token), projectId)
    case 'svc_ak_':
      return keyHolder(auth, hashToken(token), projectId)
    case 'svc_ot_':
      return keyHolder(auth, hashToken(token), projectId, findKeyHolderByAccessToken)
    case 'svc_at_':
      return authenticateAgent(auth, hashToken(token))
    case 'svc_lt_':
      return authenticateLocal(auth, hashToken(token))
    default:
      return refuse('The token is not valid.')
  }
}

async function signedIn({ config, identity }: AuthContext, tokenHash: string, projectId?: number): Promise<Caller> {
  const row = await findSignIn(identity.holders, tokenHash, projectId)
  if (!row)
    return (await isOperatorSignIn(identity.holders, tokenHash))
      ? { kind: 'local', ...operatorAccount, tokenHash }
      : refuse('The token is not valid.')
  const now = config.clock()
  const leftMs = Date.parse(row.expiresAt) - now.getTime()
  if (leftMs <= 0) throw new Problem('TOKEN_EXPIRED')
  if (leftMs < signInMs - dayMs) identity.lastUsed.extend(tokenHash, new Date(now.getTime() + signInMs).toISOString())
  if (isWorthRecording(row.lastUsedAt, now)) identity.lastUsed.signInUsed(tokenHash, now.toISOString())
  return {
    kind: 'user',
    userId: row.userId,
    role: row.role,
    email: row.email,
    displayName: row.displayName,
    tokenHash,
    signInId: row.id,
    grant: grantIn(row, projectId),
  }
}

async function keyHolder(
  { config, identity }: AuthContext,
  tokenHash: string,
  projectId?: number,
  find = findKeyHolder,
): Promise<Caller> {
  const row = await find(identity.holders, tokenHash, projectId)
  if (!row) return refuse('The API key is not valid.')
  const now = config.clock()
  if (Date.parse(row.expiresAt) <= now.getTime()) throw new Problem('TOKEN_EXPIRED', 'The API key has expired.')
  const caller = callerOfKey(row, tokenHash, projectId)
  if (!caller) return refuse('The API key is not valid.')
  if (isWorthRecording(row.lastUsedAt, now)) identity.lastUsed.keyUsed(row.id, now.toISOString())
  return caller
}

/** The caller of an API key. Undefined if its owner was deleted. The key's expiry is already checked. */
export function callerOfKey(row: KeyHolder, tokenHash: string, projectId?: number): Caller | undefined {
  const owner =
    row.role === null
      ? ownerBeforeUsers(row.userId, row.hasUsers)
      : { userId: row.userId, role: row.role, email: row.email!, displayName: row.displayName! }
  return (
    owner && {
      kind: 'key',
      userId: owner.userId,
      role: owner.role,
      email: owner.email,
      displayName: owner.displayName,
      tokenHash,
      key: {
        id: row.id,
        name: row.name,
        permissions: JSON.parse(row.permissions) as Permission[],
        scope: row.scope,
        organizationId: row.organizationId,
        projectId: row.projectId,
      },
      grant: grantIn(row, projectId),
    }
  )
}

/** The caller of an account, with its current permissions. Undefined if the account was deleted. */
export async function callerOfAccount(db: Reader, userId: number): Promise<Caller | undefined> {
  if (userId === localOperator)
    return (await hasUsers(db)) ? undefined : { kind: 'local', ...operatorAccount, tokenHash: '' }
  const user = await readAccount(db, userId)
  return (
    user && {
      kind: 'user',
      userId,
      role: user.role,
      email: user.email,
      displayName: user.displayName,
      tokenHash: '',
    }
  )
}

/** Times of last use are recorded to the minute. */
const isWorthRecording = (lastUsedAt: string | null, now: Date) =>
  lastUsedAt === null || Math.abs(now.getTime() - Date.parse(lastUsedAt)) >= useMs

const grantIn = (row: JoinedGrant, projectId: number | undefined): Caller['grant'] =>
  projectId === undefined ? undefined : { projectId, held: row.ownerId === null ? undefined : (row as Grant) }

const ownerBeforeUsers = (userId: number, hasUsers: number) =>
  userId === localOperator && !hasUsers ? operatorAccount : undefined

/** A token that a user requested is valid only while the user has access to the project. */
async function authenticateAgent(
  { config, identity: { holders }, catalogue }: AuthContext & AgentNames,
  tokenHash: string,
): Promise<Caller> {
  const row = await findAgentToken(holders, tokenHash)
  if (!row || row.deletedAt !== null) return refuse('The agent token is not valid.')
  if (Date.parse(row.expiresAt) <= config.clock().getTime())
    throw new Problem('TOKEN_EXPIRED', 'The agent token has expired.')
  const caller: Caller = {
    kind: 'agent',
    userId: noAccount,
    role: 'user',
    email: '',
    displayName: row.agent === null ? 'Agent' : await catalogue.nameOf(row.agent),
    tokenHash,
    agent: {
      projectId: row.projectId,
      cardId: row.cardId,
      sessionId: row.sessionId,
      userId: row.userId,
      isReviewer: row.purpose === 'review',
    },
  }
  if (row.userId === null || row.userId === localOperator) return caller
  const role =
    row.userRole && (await projectRole(holders, { ...caller, userId: row.userId, role: row.userRole }, row.projectId))
  return role && role !== 'viewer' ? caller : refuse('The agent token is not valid.')
}

async function authenticateLocal(auth: AuthContext, tokenHash: string): Promise<Caller> {
  if (tokenHash !== auth.identity.localTokenHash)
    return refuse('The local token is not valid, because its server has stopped.')
  return localOperatorCaller(auth, tokenHash)
}

/** Authenticates a request without a token. */
async function callerWithoutToken(auth: AuthContext, peer: Pick<Peer, 'isOwn'>): Promise<Caller> {
  if (!(await isOpen({ config: auth.config, db: auth.identity.holders }))) return refuse()
  return (await peer.isOwn())
    ? localOperatorCaller(auth, '')
    : refuse(
        'Authentication is turned off only for the account that runs the server. Send Authorization: Bearer <token>.',
      )
}

/** The local operator, or the first super_admin once there is one. */
async function localOperatorCaller({ identity }: AuthContext, tokenHash: string): Promise<Caller> {
  const user = await readFirstSuperAdmin(identity.holders)
  if (!user) return { kind: 'local', ...operatorAccount, tokenHash }
  return {
    kind: 'local',
    userId: user.id,
    role: user.role,
    email: user.email,
    displayName: user.displayName,
    tokenHash,
  }
}

const refuse = (message?: string): Promise<never> => Promise.reject(new Problem('UNAUTHENTICATED', message))
