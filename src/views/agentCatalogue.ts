import type { InferOutput } from 'valibot'
import type { AgentCheck, Provider } from '../contract/agents/agentCatalogue.ts'
import type { OffersRow } from '../store/agents/agentOffers.ts'

/** An agent in the catalogue, without its environment. */
interface Entry {
  provider: {
    id: string
    name: string
    protocol: 'acp' | 'command'
    command: readonly string[]
    install: string | null
    credentials: object
    tried: string | null
  }
  installed: boolean
  path: string | null
}

/**
 * @param offers the agent's offers at its last start on this machine
 * @param isRunning whether a check of the agent is running
 * @param forAdmin whether its command line and path are shown
 */
export const provider = (
  { provider: { id, name, protocol, command, install, credentials, tried }, installed, path }: Entry,
  offers: OffersRow | undefined,
  isRunning: (agent: string, profile: string | null) => boolean,
  forAdmin: boolean,
): InferOutput<typeof Provider> => ({
  id,
  name,
  protocol,
  command: forAdmin ? [...command] : null,
  installed,
  path: forAdmin ? path : null,
  install,
  credentialProviders: Object.keys(credentials),
  version: offers?.version ?? null,
  tried,
  signedIn: offers === undefined || offers.signedIn === null ? null : offers.signedIn === 1,
  models: JSON.parse(offers?.models ?? '[]'),
  modes: JSON.parse(offers?.modes ?? '[]'),
  efforts: JSON.parse(offers?.efforts ?? '[]'),
  seenAt: offers?.seenAt ?? null,
  check: check(offers?.checkState ?? null, isRunning(id, null)),
})

/** A check that was running when the server stopped has failed. */
function check(state: string | null, isRunning: boolean): AgentCheck | null {
  if (state === null) return null
  const stored = JSON.parse(state) as AgentCheck
  return stored.status === 'running' && !isRunning
    ? { ...stored, status: 'failed', detail: 'The server stopped during the check.' }
    : stored
}
