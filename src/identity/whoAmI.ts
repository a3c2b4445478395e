import type { InferOutput } from 'valibot'
import type { TokenInfo, WhoAmI } from '../contract/accounts/auth.ts'
import { noAccount, type Caller } from '../domain/accounts/caller.ts'
import { findAgentToken } from '../store/agents/agentTokens.ts'
import { findKeyHolderByAccessToken, readKey } from '../store/accounts/keys.ts'
import { findSignIn } from '../store/accounts/signInTokens.ts'
import type { AuthContext } from './identity.ts'

type Info = InferOutput<typeof TokenInfo>

/** The caller's account, and the kind, permissions and expiry of its token. */
export async function whoAmI({ identity }: AuthContext, caller: Caller): Promise<InferOutput<typeof WhoAmI>> {
  const { userId, email, displayName, role } = caller
  const id = userId === noAccount ? null : String(userId)
  return { id, email, displayName, role, token: { ...unlimited, ...(await infoOf(identity.holders, caller)) } }
}

/** The fields of a token without limits. */
const unlimited: Omit<Info, 'kind'> = {
  name: null,
  scope: 'server',
  organizationId: null,
  projectId: null,
  cardId: null,
  permissions: null,
  expiresAt: null,
}

async function infoOf(
  holders: AuthContext['identity']['holders'],
  { kind, userId, key, agent, tokenHash }: Caller,
): Promise<Pick<Info, 'kind'> & Partial<Info>> {
  if (key) {
    const row = await readKey(holders, userId, key.id)
    // An app's token expires before the app's key.
    const appToken = row?.app === null ? undefined : await findKeyHolderByAccessToken(holders, tokenHash)
    return {
      kind: 'key',
      name: row?.name ?? null,
      scope: key.scope,
      organizationId: key.organizationId === null ? null : String(key.organizationId),
      projectId: key.projectId === null ? null : String(key.projectId),
      permissions: [...key.permissions],
      expiresAt: (appToken ?? row)?.expiresAt ?? null,
    }
  }
  if (agent) {
    const expiresAt = (await findAgentToken(holders, tokenHash))?.expiresAt ?? null
    return { kind: 'agent', scope: 'card', projectId: String(agent.projectId), cardId: String(agent.cardId), expiresAt }
  }
  if (kind === 'local') return { kind: tokenHash === '' ? 'none' : 'local' }
  return { kind: 'sign-in', expiresAt: (await findSignIn(holders, tokenHash))?.expiresAt ?? null }
}
