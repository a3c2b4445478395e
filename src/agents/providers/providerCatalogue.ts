import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import type { CredentialProvider } from '../../contract/credentials.ts'
import { searchPath } from '../../process/environment.ts'
import type { AgentProvider } from './builtInProviders.ts'
import { readAgents } from './configuredProviders.ts'

const cacheMs = 5000

/** An agent, and whether its program is installed on this machine. */
interface CatalogueEntry {
  provider: AgentProvider
  installed: boolean
}
/** The agent ids of card, column and project, in order of precedence, and the provider of the credential. */
interface AgentPreference {
  card?: string | null
  column?: string | null
  project?: string | null
  credential?: CredentialProvider | null
}
/** The chosen agent, or what is missing, as a message for people. */
export type AgentChoice = { provider: AgentProvider; missing?: undefined } | { provider?: undefined; missing: string }

/** The agents that can be started here. */
export interface Catalogue {
  /** All agents, built-in ones first. Cached for five seconds. @throws ConfigBroken */
  list(): Promise<CatalogueEntry[]>
  /**
   * The agent for a card: the first id that is set; else the first installed agent that takes the credential; else the first installed one.
   * @throws ConfigBroken
   */
  choose(preference: AgentPreference): Promise<AgentChoice>
}

export function createCatalogue(dataDir: string, env: NodeJS.ProcessEnv = process.env): Catalogue {
  let cached: { entries: Promise<CatalogueEntry[]>; until: number } | undefined
  const list = () => {
    if (!cached || performance.now() > cached.until)
      cached = { entries: read(dataDir, env.PATH ?? ''), until: performance.now() + cacheMs }
    return cached.entries
  }
  return { list, choose: async preference => choose(await list(), preference) }
}

const read = async (dataDir: string, path: string): Promise<CatalogueEntry[]> =>
  Promise.all(
    (await readAgents(dataDir)).map(async provider => ({
      provider,
      installed: await isInstalled(provider.command[0]!, path),
    })),
  )

/** Whether a program is on the PATH and executable. */
async function isInstalled(program: string, path: string): Promise<boolean> {
  if (program.includes('/')) return isAbsolute(program) && isProgram(program)
  const names = process.platform === 'win32' ? ['', '.exe', '.cmd', '.bat'].map(ending => program + ending) : [program]
  for (const folder of searchPath(path).split(delimiter))
    for (const name of names) if (folder && (await isProgram(join(folder, name)))) return true
  return false
}

const isProgram = async (file: string) =>
  (await stat(file).then(
    found => found.isFile(),
    () => false,
  )) &&
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  )

function choose(
  entries: readonly CatalogueEntry[],
  { card, column, project, credential }: AgentPreference,
): AgentChoice {
  const named = card ?? column ?? project ?? null
  if (named !== null) {
    const entry = entries.find(({ provider }) => provider.id === named)
    if (!entry) return { missing: `There is no agent ${named}.` }
    return entry.installed ? { provider: entry.provider } : { missing: notInstalled(entry.provider) }
  }
  const fitting = credential ? entries.filter(({ provider }) => provider.credentials[credential]) : []
  const installed = fitting.find(entry => entry.installed) ?? entries.find(entry => entry.installed)
  if (installed) return { provider: installed.provider }
  return { missing: fitting[0] ? notInstalled(fitting[0].provider) : noneInstalled(entries) }
}

/** Names the first built-in agent and how to install it. */
function noneInstalled(entries: readonly CatalogueEntry[]): string {
  const { provider } = entries.find(entry => entry.provider.install !== null) ?? {}
  const message = 'No agent is installed on the server.'
  return provider ? `${message} To get one, ${provider.name} for example: ${provider.install}` : message
}

const notInstalled = ({ name, install }: AgentProvider) =>
  `${name} is not installed on the server.${install ? ` To get it: ${install}` : ''}`
