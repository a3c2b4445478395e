import { credentialFor } from '../../../domain/accounts/credentials.ts'
import { holdBack } from '../../../domain/agents/budgetPauses.ts'
import { mintAgentToken, maxTokenSecs } from '../../../identity/agentTokens.ts'
import { headersOf } from '../../../identity/credentials.ts'
import { readCredential, type CredentialRow } from '../../../store/accounts/credentials.ts'
import { updateSession } from '../../../store/agents/sessions.ts'
import { retryWhileBusy } from '../../../store/engine/retry.ts'
import { AgentFailure } from '../../link/agentLink.ts'
import { credentialProblem, type AgentCredential } from '../../providers/credentialEnvironment.ts'
import { doesNotTake } from '../../providers/providerCatalogue.ts'
import type { RunDependencies } from '../runDependencies.ts'
import { RunStopped } from '../sessionEndings.ts'
import type { SessionAgent, WithWorkplace } from './sessionContext.ts'

/**
 * Opens the session's credential, records it with the session, and creates the session's token.
 * @throws AgentFailure launch_failed, Problem of `openCredential`, RunStopped also if the credential's budget is exhausted
 */
export async function takeCredential(context: WithWorkplace) {
  const { dependencies, record, agent } = context
  const credential = agent && (await findCredential(context, agent))
  const credentialId = credential?.id ?? null
  const token = await retryWhileBusy(() =>
    dependencies.db.transaction(async tx => {
      const row = await record.requireOwnRow(tx)
      const { id: sessionId, cardId } = row
      await updateSession(tx, sessionId, { credentialId })
      const spender = { cardId: 0, projectId: 0, credentialId }
      if (await holdBack(tx, dependencies.agents, { ...row, credentialId }, spender)) return undefined
      return (await mintAgentToken(tx, { cardId, sessionId, ttlSecs: maxTokenSecs })).token
    }),
  )
  if (token === undefined) throw new RunStopped()
  return { credential, token }
}

/** The credential that was chosen for the session, or the card's. The agent is not started with a different credential. */
async function findCredential(
  { dependencies, session: { askedCredentialId }, card }: WithWorkplace,
  { provider, profileRow }: SessionAgent,
): Promise<AgentCredential | null> {
  const { db, catalogue } = dependencies
  const row =
    askedCredentialId === null ? await credentialFor(db, card, profileRow) : await readCredential(db, askedCredentialId)
  if (!row && askedCredentialId !== null)
    throw new AgentFailure('launch_failed', `The credential ${askedCredentialId} no longer exists.`)
  if (!row) return null
  if (!provider.credentials[row.provider])
    throw new AgentFailure('launch_failed', doesNotTake(provider, row.provider, await catalogue.list()))
  const credential = await openCredential(dependencies, row)
  const problem = credentialProblem(provider, credential)
  if (problem) throw new AgentFailure('launch_failed', problem)
  return credential
}

/** A credential in the form that agents accept. @throws Problem CONFLICT if there is no secret yet, SEALED_WITH_OTHER_KEY */
export async function openCredential(
  { deviceGrants, seal }: Pick<RunDependencies, 'deviceGrants' | 'seal'>,
  row: CredentialRow,
): Promise<AgentCredential> {
  const { id, provider, baseUrl, models } = row
  const { kind, token } = await deviceGrants.secretOf(row)
  return { id, provider, kind, token, baseUrl, headers: headersOf(seal, row), models: JSON.parse(models) as string[] }
}
