import { findProgram } from '../../process/findProgram.ts'
import type { CredentialProvider } from '../../contract/accounts/credentials.ts'
import { invalid, Problem } from '../../contract/errors.ts'
import type { AgentProvider } from './agentProvider.ts'
import { InvalidConfig, readAgents } from './configuredProviders.ts'

const cacheMs = 5000

/** An agent, and whether its program is installed on this machine. */
interface CatalogueEntry {
  provider: AgentProvider
  installed: boolean
  /** The path of the agent's program. Null if it is not installed. */
  path: string | null
}
/** The agent settings for a card. Null if not set. `program` is the program that a profile runs instead of the agent's own. */
interface AgentPreference {
  agent: string | null
  program?: string | null
  credential: CredentialProvider | null
}
/** The chosen agent, or the reason why there is none, as a message for users. */
export type AgentChoice = { provider: AgentProvider; missing?: undefined } | { provider?: undefined; missing: string }

/** The agents that can be started here. */
export interface Catalogue {
  /** All agents, built-in ones first. Cached for five seconds. @throws InvalidConfig */
  list(): Promise<CatalogueEntry[]>
  /**
   * The agent for a card: the named one; otherwise the first installed agent that accepts the credential; otherwise, without a
   * credential, the first installed one. A credential never goes to an agent that does not accept it, and an agent never starts
   * without its chosen credential.
   * @throws InvalidConfig
   */
  choose(preference: AgentPreference): Promise<AgentChoice>
  /** The IDs of the built-in and configured agents. @throws Problem CONFLICT if config.json is not valid */
  listIds(): Promise<readonly string[]>
  /** The display name of an agent. Returns the ID if the agent is no longer configured. */
  nameOf(id: string): Promise<string>
  /** @throws Problem VALIDATION_FAILED naming `field`, InvalidConfig */
  requireAgent(id: string, field?: string): Promise<AgentProvider>
}

export function createCatalogue(dataDir: string, env: NodeJS.ProcessEnv = process.env): Catalogue {
  let cached: { entries: Promise<CatalogueEntry[]>; until: number } | undefined
  const list = () => {
    if (!cached || performance.now() > cached.until)
      cached = { entries: read(dataDir, env.PATH ?? ''), until: performance.now() + cacheMs }
    return cached.entries
  }
  return {
    list,
    choose: async preference =>
      choose(await list(), preference, async program => (await findProgram(program, env.PATH ?? '')) !== null),
    listIds: async () => {
      const entries = await list().catch((error: unknown) => {
        throw error instanceof InvalidConfig ? new Problem('CONFLICT', error.message, { cause: error }) : error
      })
      return entries.map(({ provider }) => provider.id)
    },
    nameOf: async id => {
      // A stale entry is fine, because names change only with the configuration.
      const entries = await (cached?.entries ?? list()).catch(() => [])
      return entries.find(({ provider }) => provider.id === id)?.provider.name ?? id
    },
    requireAgent: async (id, field = 'agent') => {
      const entries = await list()
      const entry = entries.find(({ provider }) => provider.id === id)
      if (entry) return entry.provider
      throw invalid(field, `must be one of ${entries.map(({ provider }) => provider.id).join(', ')}`)
    },
  }
}

const read = async (dataDir: string, path: string): Promise<CatalogueEntry[]> =>
  Promise.all(
    (await readAgents(dataDir)).map(async provider => {
      const found = await findProgram(provider.command[0]!, path)
      return { provider, installed: found !== null, path: found }
    }),
  )

async function choose(
  entries: readonly CatalogueEntry[],
  { agent, program, credential }: AgentPreference,
  isThere: (program: string) => Promise<boolean>,
): Promise<AgentChoice> {
  if (agent !== null) {
    const entry = entries.find(({ provider }) => provider.id === agent)
    if (!entry) return { missing: `There is no agent ${agent}.` }
    const { provider } = entry
    if (program ? !(await isThere(program)) : !entry.installed)
      return { missing: program ? `${program} is not installed on the server.` : notInstalled(provider) }
    if (credential !== null && !provider.credentials[credential])
      return { missing: doesNotTake(provider, credential, entries) }
    return { provider }
  }
  const fitting = credential === null ? entries : entries.filter(({ provider }) => provider.credentials[credential])
  const installed = fitting.find(entry => entry.installed)
  if (installed) return { provider: installed.provider }
  if (credential === null) return { missing: noneInstalled(entries) }
  return { missing: fitting[0] ? notInstalled(fitting[0].provider) : `No agent accepts credentials of ${credential}.` }
}

/** Explains why an agent is not started with a credential, and which agents accept it. */
export function doesNotTake(
  { name }: AgentProvider,
  credential: CredentialProvider,
  entries: readonly CatalogueEntry[],
): string {
  const takers = entries.filter(({ provider }) => provider.credentials[credential]).map(({ provider }) => provider.id)
  const others = takers.length > 0 ? `These agents do: ${takers.join(', ')}.` : 'No agent does.'
  return `${name} does not support credentials of ${credential}. ${others}`
}

/** Names the first built-in agent and explains how to install it. */
function noneInstalled(entries: readonly CatalogueEntry[]): string {
  const { provider } = entries.find(entry => entry.provider.install !== null) ?? {}
  const message = 'No agent is installed on the server.'
  return provider ? `${message} To install one, for example ${provider.name}: ${provider.install}` : message
}

const notInstalled = ({ name, install }: AgentProvider) =>
  `${name} is not installed on the server.${install ? ` To get it: ${install}` : ''}`
