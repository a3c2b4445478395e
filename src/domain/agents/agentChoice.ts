import { AgentChoice } from '../../contract/agents/agentChoice.ts'
import { invalid } from '../../contract/errors.ts'
import { listOffersOf, listStoredAgents, type Offered } from '../../store/agents/agentOffers.ts'
import { readProfileNamed, type ProfileRow } from '../../store/agents/agentProfiles.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { readCredential, type CredentialRow } from '../../store/accounts/credentials.ts'
import { readColumn } from '../../store/boards/columns.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { readProject } from '../../store/projects/projects.ts'
import { entriesOf } from '../../store/engine/record.ts'
import { readServerSetting, writeServerSetting } from '../../store/server/serverSettings.ts'
import type { Agents } from './sessions.ts'

/** A choice that sets nothing. */
export const noChoice: AgentChoice = { agent: null, profile: null, model: null, mode: null, effort: null }

/** The resolved choice for a card. `agent` is null if no level names one. */
export interface ResolvedChoice extends Omit<AgentChoice, 'profile'> {
  profile: ProfileRow | null
  /** A named profile that no longer exists. Nothing can start without it. */
  missingProfile: string | null
}

const fields = entriesOf(AgentChoice)
const options = { model: 'models', mode: 'modes', effort: 'efforts' } as const
const optionFields = ['model', 'mode', 'effort'] as const
const maxNamed = 20

/** The levels of a card's choice, nearest first: its own, its column's, its project's and the server's. */
export const cardLevels = async (
  db: Reader,
  card: Pick<CardRow, 'columnId' | 'projectId'> & AgentChoice,
): Promise<AgentChoice[]> => [
  card,
  (await readColumn(db, card.columnId)) ?? noChoice,
  ...(await projectLevels(db, card.projectId)),
]

/** The levels of a project's choice, nearest first. */
export const projectLevels = async (db: Reader, projectId: number): Promise<AgentChoice[]> => [
  (await readProject(db, projectId)) ?? noChoice,
  await readAgentSettings(db),
]

/** The server's default for projects without a choice. */
export const readAgentSettings = async (db: Reader): Promise<AgentChoice> => ({
  ...noChoice,
  ...(JSON.parse((await readServerSetting(db, 'agents')) ?? '{}') as Partial<AgentChoice>),
})

/** The agents of this server's catalogue. */
export type KnownAgents = Pick<Agents, 'listIds'>

/** @throws Problem VALIDATION_FAILED as `changedChoice` does */
export async function changeAgentSettings(
  tx: Transaction,
  agents: KnownAgents,
  change: Partial<AgentChoice>,
): Promise<AgentChoice> {
  const before = await readAgentSettings(tx)
  const settings = { ...before, ...(await changedChoice(tx, agents, change, async () => [before])) }
  await writeServerSetting(tx, 'agents', JSON.stringify(settings))
  return settings
}

/**
 * Resolves a choice; the nearest level wins. A model, mode or effort only applies to its level's agent: a project's
 * model for one agent is not used for another one that a card names.
 * @param given a fixed agent, such as a session's
 */
export async function resolveChoice(
  db: Reader,
  levels: readonly AgentChoice[],
  given?: string,
): Promise<ResolvedChoice> {
  const profiles = await profilesOf(db, levels)
  const agents = levels.map((_, from) => agentFrom(levels.slice(from), profiles))
  const agent = given ?? agents[0] ?? null
  const appliesAt = (at: number) => agents[at] === null || agents[at] === agent
  const named = levels.findIndex(
    ({ profile }, at) => profile !== null && appliesAt(at) && isOf(profiles.get(profile), agent),
  )
  const profile = named < 0 ? undefined : profiles.get(levels[named]!.profile!)
  const chooseValue = (field: 'model' | 'mode' | 'effort') => {
    for (const [at, level] of levels.entries()) {
      const value = (appliesAt(at) ? level[field] : null) ?? (at === named ? (profile?.[field] ?? null) : null)
      if (value !== null) return value
    }
    return null
  }
  return {
    agent,
    profile: profile ?? null,
    missingProfile: levels.find(each => each.profile !== null && !profiles.has(each.profile))?.profile ?? null,
    model: chooseValue('model'),
    mode: chooseValue('mode'),
    effort: chooseValue('effort'),
  }
}

/** Reads the credential of a level's agent. Receives the ID of the profile's credential. */
type CredentialReader = (profileCredentialId: number | null) => Promise<Pick<CredentialRow, 'models'> | undefined>

/**
 * Validates a change of a choice, and clears the fields that depend on a replaced agent.
 * @param readLevels reads the current levels, beginning with the changed one
 * @param credentialFor reads the level's credential, by default that of the profile. The credential's models are allowed in addition to the
 * agent's own
 * @throws Problem VALIDATION_FAILED for an unknown agent or profile, and for a model, mode or effort that the agent is known not to offer.
 * A stored agent that is no longer known is not checked again.
 */
export async function changedChoice(
  db: Reader,
  agents: KnownAgents,
  change: Partial<AgentChoice>,
  readLevels: () => Promise<readonly AgentChoice[]>,
  credentialFor: CredentialReader = async id => (id === null ? undefined : readCredential(db, id)),
): Promise<Partial<AgentChoice>> {
  const changed = Object.fromEntries(
    fields.filter(field => change[field] !== undefined).map(field => [field, change[field]]),
  ) as Partial<AgentChoice>
  const namesAgent = changed.agent !== undefined || changed.profile !== undefined
  if (!namesAgent && fields.every(field => (changed[field] ?? null) === null)) return changed
  const [own = noChoice, ...further] = await readLevels()
  const after = [{ ...noChoice, ...own, ...changed }, ...further]
  if (changed.agent && changed.agent !== own.agent) await requireAgent(db, agents, changed.agent, 'agent')
  if (changed.profile) await requireProfile(db, changed.profile, 'profile', after[0]!.agent)
  const { agent, profile } = await resolveChoice(db, after)
  const ownModels = async () =>
    JSON.parse((await credentialFor(profile?.credentialId ?? null))?.models ?? '[]') as string[]
  if (agent !== null)
    for (const field of optionFields)
      if (changed[field])
        requireOffered(
          field,
          changed[field],
          await readOffers(db, agent, profile?.name ?? null, options[field]),
          field === 'model' ? await ownModels() : [],
        )
  const { agent: before } = await resolveChoice(db, [own, ...further])
  return namesAgent && before !== agent ? { ...(await withoutOtherAgents(db, own, agent)), ...changed } : changed
}

/**
 * The fields that a level clears when its agent changes: model, mode and effort, which are specific to an agent, and a
 * profile of another agent.
 */
async function withoutOtherAgents(db: Reader, own: AgentChoice, agent: string | null): Promise<Partial<AgentChoice>> {
  const profile = own.profile === null ? undefined : await readProfileNamed(db, own.profile)
  const isOther = profile !== undefined && agent !== null && profile.agent !== agent
  const lost = [...optionFields.filter(field => own[field] !== null), ...(isOther ? (['profile'] as const) : [])]
  return Object.fromEntries(lost.map(field => [field, null]))
}

/**
 * Requires an agent of this server, or one that another machine has started or a profile names.
 * @throws Problem VALIDATION_FAILED with the known agents
 */
export async function requireAgent(db: Reader, agents: KnownAgents, id: string, field: string): Promise<void> {
  const configured = await agents.listIds()
  if (configured.includes(id)) return
  const known = [...new Set([...configured, ...(await listStoredAgents(db))])]
  if (!known.includes(id)) throw invalid(field, `must be one of the known agents: ${listIds(known)}`)
}

/** @throws Problem VALIDATION_FAILED if the profile does not exist or belongs to another agent */
export async function requireProfile(
  db: Reader,
  name: string,
  field: string,
  agent: string | null = null,
): Promise<ProfileRow> {
  const profile = await readProfileNamed(db, name)
  if (!profile)
    throw invalid(
      field,
      `must be an existing profile, which ${name} is not. To list the profiles, run: board agents profiles`,
    )
  if (agent !== null && profile.agent !== agent)
    throw invalid(field, `must be a profile of ${agent}, not of ${profile.agent}`)
  return profile
}

/** An agent's known offers on any machine. Empty before its first start. */
async function readOffers(
  db: Reader,
  agent: string,
  profile: string | null,
  kind: 'models' | 'modes' | 'efforts',
): Promise<Offered[]> {
  const rows = await listOffersOf(db, agent, profile ?? '')
  const offered = rows.flatMap(row => JSON.parse(row[kind]) as Offered[])
  return [...new Map(offered.map(each => [each.id, each])).values()]
}

/** @param more further allowed values; if the agent has no known offers, any value is allowed */
function requireOffered(field: string, id: string, offered: readonly Offered[], more: readonly string[]): void {
  const ids = [...new Set([...more, ...offered.map(each => each.id)])]
  if (offered.length === 0 || ids.includes(id)) return
  throw invalid(field, `must be one of the values that the agent offers: ${listIds(ids)}`)
}

/** Joins the IDs on one line of limited length. */
const listIds = (ids: readonly string[]): string =>
  ids.slice(0, maxNamed).join(', ') + (ids.length > maxNamed ? `, and ${ids.length - maxNamed} more` : '')

async function profilesOf(db: Reader, levels: readonly AgentChoice[]): Promise<ReadonlyMap<string, ProfileRow>> {
  const profiles = new Map<string, ProfileRow>()
  for (const { profile } of levels) {
    const row = profile === null ? undefined : await readProfileNamed(db, profile)
    if (row) profiles.set(profile!, row)
  }
  return profiles
}

/** The agent of the first level that names one, directly or through a profile. */
function agentFrom(levels: readonly AgentChoice[], profiles: ReadonlyMap<string, ProfileRow>): string | null {
  for (const { agent, profile } of levels) {
    const named = agent ?? (profile === null ? null : (profiles.get(profile)?.agent ?? null))
    if (named !== null) return named
  }
  return null
}

const isOf = (profile: ProfileRow | undefined, agent: string | null) => profile !== undefined && profile.agent === agent
