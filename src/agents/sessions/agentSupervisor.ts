import type { Agents } from '../../domain/agents/sessions.ts'
import { revokeAgentTokens } from '../../identity/agentTokens.ts'
import type { Revocations } from '../../identity/revocations.ts'
import type { Database } from '../../store/engine/database.ts'
import { releaseSlots } from '../../store/agents/slots.ts'
import { doesNotTake } from '../providers/providerCatalogue.ts'
import { chooseAgent } from './queue/chooseAgent.ts'
import type { RunDependencies } from './runDependencies.ts'
import { interruptOpen, SessionReconciler } from './sessionReconciler.ts'

/** Runs the agents, and answers the domain's questions about them. */
export interface Supervisor
  extends
    Agents,
    Pick<
      SessionReconciler,
      'runOf' | 'isAtWork' | 'endLate' | 'usesFolder' | 'holdSlot' | 'wake' | 'releaseCalls' | 'start' | 'stop'
    > {
  /** Reads the catalogue. Call it before a transaction that might choose an agent. */
  refresh(): Promise<void>
}

type Dependencies = Pick<
  RunDependencies,
  | 'config'
  | 'db'
  | 'processTrees'
  | 'catalogue'
  | 'sandbox'
  | 'worktrees'
  | 'connect'
  | 'deviceGrants'
  | 'seal'
  | 'prices'
> & {
  revocations: Revocations
}

export function createSupervisor({ revocations, ...dependencies }: Dependencies): Supervisor {
  const agents: Agents = {
    choose: (db, card) => chooseAgent(dependencies.catalogue, db, card, dependencies.config.clock().toISOString()),
    credentialProblem: async (agent, provider) => {
      const entries = await dependencies.catalogue.list()
      const entry = entries.find(each => each.provider.id === agent)
      return entry && !entry.provider.credentials[provider] ? doesNotTake(entry.provider, provider, entries) : undefined
    },
    listIds: dependencies.catalogue.listIds,
    nameOf: dependencies.catalogue.nameOf,
    revokeTokens: (tx, of) => revokeAgentTokens(revocations, tx, of),
    reconcile: tx => tx.afterCommit(() => reconciler.wake()),
    terminate: (tx, id) =>
      tx.afterCommit(() => {
        const run = reconciler.runOf(id)
        if (!run?.late.isEnding) void run?.stop()
        reconciler.wake()
      }),
  }
  const reconciler = new SessionReconciler({ ...dependencies, agents })
  const refresh = async () => {
    await dependencies.catalogue.list().catch(() => {
      /* The error is thrown again when an agent is chosen. */
    })
  }
  return {
    ...agents,
    runOf: sessionId => reconciler.runOf(sessionId),
    isAtWork: cardId => reconciler.isAtWork(cardId),
    endLate: cardId => reconciler.endLate(cardId),
    usesFolder: folder => reconciler.usesFolder(folder),
    holdSlot: check => reconciler.holdSlot(check),
    wake: () => reconciler.wake(),
    releaseCalls: () => reconciler.releaseCalls(),
    start: server => reconciler.start(server),
    stop: () => reconciler.stop(),
    refresh,
  }
}

/**
 * Interrupts the open sessions of an earlier server, except those that wait for the end of a usage limit, for a budget, or for an
 * answer after their turn. On a shared database, all queued sessions stay: other daemons might have queued them while no server
 * ran on this machine.
 */
export async function recover(db: Database, agents: Agents): Promise<void> {
  await db.transaction(releaseSlots)
  await interruptOpen(db, agents, ({ status }) => !db.isShared || status !== 'queued')
}
