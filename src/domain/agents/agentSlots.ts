import type { AgentSlots, ChangedAgentSlots } from '../../contract/agents/agentSlots.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { requireAgent, type KnownAgents } from './agentChoice.ts'
import { readServerSetting, writeServerSetting } from '../../store/server/serverSettings.ts'
import type { SlotSession } from '../../store/agents/slots.ts'

const unbounded: AgentSlots = { server: null, agents: {} }

/** The maximum number of concurrent agents on all machines, in total and per agent. */
export const readAgentSlots = async (db: Reader): Promise<AgentSlots> => ({
  ...unbounded,
  ...(JSON.parse((await readServerSetting(db, 'agentSlots')) ?? '{}') as Partial<AgentSlots>),
})

/** @throws Problem VALIDATION_FAILED for an unknown agent without a number */
export async function changeAgentSlots(
  tx: Transaction,
  known: KnownAgents,
  { server, agents = {} }: ChangedAgentSlots,
): Promise<AgentSlots> {
  const before = await readAgentSlots(tx)
  for (const id of Object.keys(agents)) if (!(id in before.agents)) await requireAgent(tx, known, id, `agents.${id}`)
  const merged = Object.entries({ ...before.agents, ...agents })
  const after: AgentSlots = {
    server: server === undefined ? before.server : server,
    agents: Object.fromEntries(merged.filter((entry): entry is [string, number] => entry[1] !== null)),
  }
  await writeServerSetting(tx, 'agentSlots', JSON.stringify(after))
  return after
}

/** A session of a card or an agent check, each of which takes a slot. */
export type SlotHolder = Pick<SlotSession, 'projectId' | 'agent' | 'credentialId' | 'projectSlots' | 'credentialSlots'>

/** The occupied slots of everything that has a limit. */
export interface SlotCount {
  /**
   * Takes a slot of each limit that applies to the session.
   * @returns undefined if the slots were taken, otherwise the limit without a free slot
   */
  take(holder: SlotHolder): string | undefined
}

/** Counts the slots of sessions that have them. */
export function countSlots({ server, agents }: AgentSlots, taken: readonly SlotHolder[]): SlotCount {
  const counts = new Map<string, number>()
  const boundsOf = ({ projectId, agent, credentialId, projectSlots, credentialSlots }: SlotHolder) =>
    [
      { key: 'server', name: 'the server', slots: server },
      { key: `project ${projectId}`, name: 'the project', slots: projectSlots },
      { key: `agent ${agent}`, name: `the agent ${agent}`, slots: agents[agent] ?? null },
      { key: `credential ${credentialId}`, name: 'the credential', slots: credentialSlots },
    ].filter((bound): bound is typeof bound & { slots: number } => bound.slots !== null)
  const count = (session: SlotHolder) => {
    for (const { key } of boundsOf(session)) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  for (const session of taken) count(session)
  return {
    take: session => {
      const full = boundsOf(session).find(({ key, slots }) => (counts.get(key) ?? 0) >= slots)
      if (full) return `Waiting for a slot: ${full.name} has ${full.slots === 1 ? 'one' : full.slots}.`
      count(session)
      return undefined
    },
  }
}
