import { credentialFor } from '../../domain/credentials.ts'
import type { Agents } from '../../domain/sessions.ts'
import { revokeAgentTokens } from '../../identity/agentTokens.ts'
import type { Revocations } from '../../identity/revocations.ts'
import type { CardRow } from '../../store/cards.ts'
import { readColumn } from '../../store/columns.ts'
import type { Database, Reader } from '../../store/database.ts'
import { readProject } from '../../store/projects.ts'
import { InvalidConfig } from '../providers/configuredProviders.ts'
import type { Catalogue, AgentChoice } from '../providers/providerCatalogue.ts'
import type { RunDependencies } from './runDependencies.ts'
import { createSessionReconciler, interruptOpen, type SessionReconciler } from './sessionReconciler.ts'

/** Runs the agents, and answers the domain's questions about them. */
export interface Supervisor extends Agents, Pick<SessionReconciler, 'runOf' | 'isAtWork' | 'wake' | 'start' | 'stop'> {
  /** Reads the catalogue before a transaction that may choose an agent. */
  refresh(): Promise<void>
}

type Dependencies = Pick<RunDependencies, 'config' | 'db' | 'catalogue' | 'deviceGrants'> & { revocations: Revocations }

export function createSupervisor({ revocations, ...dependencies }: Dependencies): Supervisor {
  const agents: Agents = {
    choose: (db, card) => chooseAgent(dependencies.catalogue, db, card),
    revokeTokens: (tx, of) => revokeAgentTokens(revocations, tx, of),
    reconcile: tx => tx.afterCommit(() => reconciler.wake()),
    terminate: (tx, id) =>
      tx.afterCommit(() => {
        void reconciler.runOf(id)?.stop()
        reconciler.wake()
      }),
  }
  const reconciler = createSessionReconciler({ ...dependencies, agents })
  const refresh = async () => {
    await dependencies.catalogue.list().catch(() => {
      /* Whoever chooses an agent gets the error. */
    })
  }
  return {
    ...agents,
    runOf: reconciler.runOf,
    isAtWork: reconciler.isAtWork,
    wake: reconciler.wake,
    start: reconciler.start,
    stop: reconciler.stop,
    refresh,
  }
}

/**
 * Interrupts the open sessions of an earlier server. On a shared database queued sessions stay: other daemons may have queued them
 * while none ran on this machine.
 */
export const recover = (db: Database, agents: Agents): Promise<void> =>
  interruptOpen(db, agents, ({ status }) => !db.isShared || status !== 'queued')

/** The agent for a card: the card's, its column's or its project's, else the one that fits the credential, else the first installed. */
async function chooseAgent(
  catalogue: Catalogue,
  db: Reader,
  card: CardRow,
): Promise<{ agent: string } | { missing: string }> {
  const [column, project, credential] = [
    await readColumn(db, card.columnId),
    await readProject(db, card.projectId),
    await credentialFor(db, card),
  ]
  const preference = {
    card: card.agent,
    column: column?.agent,
    project: project?.agent,
    credential: credential?.provider,
  }
  const { provider, missing } = await catalogue.choose(preference).catch((error): AgentChoice => {
    if (error instanceof InvalidConfig) return { missing: error.message }
    throw error
  })
  return provider ? { agent: provider.id } : { missing }
}
