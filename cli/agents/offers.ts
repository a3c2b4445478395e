import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { listColumns, idOf, resolveProject } from '../context/resolve.ts'

type Provider = Output<Contract['agents']['providers']>[number]
type Level = Partial<Record<'agent' | 'profile', string | null>>

/** The scope for which an agent is resolved, as named on the command line. */
export interface AgentScope {
  agent?: string
  profile?: string
  card?: string
  column?: string
  project?: string
}

/** The offers of the agent that applies to a scope; if none is selected, those of all installed agents. */
export async function listOffers(
  context: Context,
  meant: AgentScope,
): Promise<Pick<Provider, 'models' | 'modes' | 'efforts'>> {
  const [providers, agent] = await Promise.all([context.client.agents.providers(), findAgent(context, meant)])
  const those = providers.filter(({ id, installed }) => (agent === undefined ? installed : id === agent))
  const all = (kind: 'models' | 'modes' | 'efforts') => [
    ...new Map(those.flatMap(each => each[kind].map(one => [one.id, one] as const))).values(),
  ]
  return { models: all('models'), modes: all('modes'), efforts: all('efforts') }
}

/** The agent of the nearest level that names one, directly or by a profile. */
async function findAgent(context: Context, meant: AgentScope): Promise<string | undefined> {
  if (meant.agent !== undefined && meant.agent !== 'none') return meant.agent
  const levels = await listLevels(context, meant)
  const profiles = levels.some(({ profile }) => profile) ? await context.client.agentProfiles.list() : []
  for (const { agent, profile } of levels) {
    const named = agent ?? profiles.find(({ name }) => name === profile)?.agent
    if (named !== undefined) return named
  }
  return undefined
}

/** The choices of a scope's levels, nearest first. Missing records have none. */
async function listLevels(context: Context, { profile, card, column, project }: AgentScope): Promise<Level[]> {
  const { client } = context
  if (profile !== undefined && profile !== 'none') return [{ profile }]
  const [own, projectId, server] = await Promise.all([
    card === undefined ? undefined : client.cards.getFlat({ id: idOf(card) }).catch(() => undefined),
    (project === undefined ? context.project() : resolveProject(context, project)).then(
      ({ id }) => id,
      () => undefined,
    ),
    client.settings.getAgents(),
  ])
  const id = own?.projectId ?? projectId
  if (id === undefined) return [server]
  const [columns, whole] = await Promise.all([listColumns(context, id), client.projects.get({ id })])
  const around = columns.find(each => each.id === own?.columnId || each.id === column || each.name === column)
  return [...(own ? [own] : []), ...(around ? [around as Level] : []), whole, server]
}
