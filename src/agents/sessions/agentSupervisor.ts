import { credentialFor } from '../../domain/credentials.ts'
import type { Agents } from '../../domain/sessions.ts'
import { revokeAgentTokens } from '../../identity/agentTokens.ts'
import type { Revocations } from '../../identity/revocations.ts'
import type { CardRow } from '../../store/cards.ts'
import { readColumn } from '../../store/columns.ts'
import type { Database, Reader } from '../../store/database.ts'
import { readProject } from '../../store/projects.ts'
import type { Catalogue, Chosen } from '../providers/providerCatalogue.ts'
import { ConfigBroken } from '../providers/configuredProviders.ts'
import { createFleet, interruptAll, type Fleet } from './sessionReconciler.ts'
import type { SessionParts } from './dependencies.ts'

/** Runs the agents, and answers what the rules of cards ask about them. */
export interface Supervisor extends Agents, Pick<Fleet, 'live' | 'isAtWork' | 'wake' | 'start' | 'stop'> {
  /** Looks which agents there are, before a transaction that may choose one. */
  refresh(): Promise<void>
}

type Parts = Pick<SessionParts, 'config' | 'db' | 'catalogue' | 'deviceGrants'> & { revocations: Revocations }

export function createSupervisor({ revocations, ...parts }: Parts): Supervisor {
  const agents: Agents = {
    choose: (db, card) => choose(parts.catalogue, db, card),
    revokeTokens: (tx, of) => revokeAgentTokens(revocations, tx, of),
    look: tx => tx.afterCommit(() => fleet.wake()),
    ended: (tx, id) =>
      tx.afterCommit(() => {
        void fleet.live(id)?.stop()
        fleet.wake()
      }),
  }
  const fleet = createFleet({ ...parts, agents })
  const refresh = async () => {
    await parts.catalogue.list().catch(() => {
      /* Who chooses one is told. */
    })
  }
  return {
    ...agents,
    live: fleet.live,
    isAtWork: fleet.isAtWork,
    wake: fleet.wake,
    start: fleet.start,
    stop: fleet.stop,
    refresh,
  }
}

/**
 * At the start of a server: what was open becomes interrupted. What waits for its turn at a shared database goes on waiting: others
 * may have asked for it while no daemon of this machine was there.
 */
export const recover = (db: Database, agents: Agents): Promise<void> =>
  interruptAll(db, agents, ({ status }) => !db.isShared || status !== 'queued')

/** The agent for a card: the card's, its column's or its project's, else the one that fits the credential, else the first installed. */
async function choose(
  catalogue: Catalogue,
  db: Reader,
  card: CardRow,
): Promise<{ agent: string } | { missing: string }> {
  const [column, project, credential] = [
    await readColumn(db, card.columnId),
    await readProject(db, card.projectId),
    await credentialFor(db, card),
  ]
  const wish = { card: card.agent, column: column?.agent, project: project?.agent, credential: credential?.provider }
  const { provider, missing } = await catalogue.choose(wish).catch((error): Chosen => {
    if (error instanceof ConfigBroken) return { missing: error.message }
    throw error
  })
  return provider ? { agent: provider.id } : { missing }
}
