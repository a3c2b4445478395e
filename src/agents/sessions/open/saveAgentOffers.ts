import { writeOffers } from '../../../store/agents/agentOffers.ts'
import { readCredential } from '../../../store/accounts/credentials.ts'
import type { Transaction } from '../../../store/engine/database.ts'
import { readSession, type SessionRow } from '../../../store/agents/sessions.ts'
import type { StartedSession } from '../../link/agentLink.ts'

/**
 * Stores the options that the agent offers, for users who choose an agent. The models of a credential are not stored, because
 * they do not apply without that credential.
 */
export async function saveAgentOffers(
  tx: Transaction,
  { id, agent, profile, purpose }: SessionRow,
  { models, modes, efforts }: StartedSession,
  version: string | null,
): Promise<void> {
  if (purpose === 'terminal') return
  await writeOffers(tx, {
    host: tx.host ?? '',
    agent,
    profile: profile ?? '',
    version,
    ...(!(await worksWithOwnModels(tx, id)) && { models: JSON.stringify(models) }),
    modes: JSON.stringify(modes),
    efforts: JSON.stringify(efforts),
    seenAt: tx.now,
  })
}

async function worksWithOwnModels(tx: Transaction, sessionId: number): Promise<boolean> {
  const { credentialId = null } = (await readSession(tx, sessionId)) ?? {}
  const credential = credentialId === null ? undefined : await readCredential(tx, credentialId)
  return credential !== undefined && credential.models !== '[]'
}
