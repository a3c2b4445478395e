import type { UsageLimits } from '../../../contract/agents/usageLimits.ts'
import { cardLevels, noChoice, resolveChoice } from '../../../domain/agents/agentChoice.ts'
import { credentialFor } from '../../../domain/accounts/credentials.ts'
import type { ChosenAgent } from '../../../domain/agents/sessions.ts'
import { shownTime } from '../../../domain/cards/shownTime.ts'
import { readProfileNamed, type ProfileRow } from '../../../store/agents/agentProfiles.ts'
import type { CardRow } from '../../../store/cards/cards.ts'
import { readCredential } from '../../../store/accounts/credentials.ts'
import type { Reader } from '../../../store/engine/database.ts'
import { readProject } from '../../../store/projects/projects.ts'
import { readLimitedUntil } from '../../../store/agents/sessions.ts'
import { InvalidConfig } from '../../providers/configuredProviders.ts'
import type { AgentChoice, Catalogue } from '../../providers/providerCatalogue.ts'

/** An agent that can work on a card, and until when it counts as limited in the card's project. */
export interface Candidate extends ChosenAgent {
  limitedUntil: string | undefined
}
type Missing = { missing: string }

/**
 * The agent for a card: the agent of the nearest level that names one, or the first installed agent that accepts the card's
 * credential. If the agent has reached its usage limit and the project allows replacements, the first other agent that has not
 * reached its limit.
 */
export async function chooseAgent(
  catalogue: Catalogue,
  db: Reader,
  card: CardRow,
  now: string,
): Promise<ChosenAgent | Missing> {
  const own = await chooseOwn(catalogue, db, card)
  const { onLimit, next } = await readUsageLimits(db, card.projectId)
  if ('missing' in own || onLimit !== 'next') return own
  const [first, ...others] = await listCandidates(catalogue, db, card, next, own, now)
  const free = first!.limitedUntil === undefined ? undefined : others.find(each => each.limitedUntil === undefined)
  return free ? { ...free, remark: insteadOf(free, own, first!.limitedUntil!) } : own
}

/** The usage limit settings of a card's project. */
export const readUsageLimits = async (db: Reader, projectId: number): Promise<UsageLimits> => {
  const project = await readProject(db, projectId)
  return project ? (JSON.parse(project.usageLimits) as UsageLimits) : { onLimit: 'stop', next: [] }
}

/** The card's own agent and its replacements, in the project's order. */
export async function candidatesFor(
  catalogue: Catalogue,
  db: Reader,
  card: CardRow,
  { next }: UsageLimits,
  now: string,
): Promise<Candidate[]> {
  const own = await chooseOwn(catalogue, db, card)
  return listCandidates(catalogue, db, card, next, 'missing' in own ? undefined : own, now)
}

/** Whether two choices are the same agent with the same profile and credential. */
export const isSameChoice = (a: ChosenIds, b: ChosenIds): boolean =>
  a.agent === b.agent && a.profile === b.profile && a.credentialId === b.credentialId
type ChosenIds = Pick<ChosenAgent, 'agent' | 'profile' | 'credentialId'>

/** The message for people when an agent replaces another one. */
export const insteadOf = (next: ChosenIds, before: ChosenIds, limitedUntil: string | null): string =>
  `${nameOf(next)} continues, because ${nameOf(before)} has reached its usage limit${limitedUntil === null ? '' : `, until ${shownTime(limitedUntil)}`}.`

const nameOf = ({ agent, profile, credentialId }: ChosenIds): string =>
  `${agent}${profile === null ? '' : ` (${profile})`}${credentialId === null ? '' : ` with credential ${credentialId}`}`

async function listCandidates(
  catalogue: Catalogue,
  db: Reader,
  card: CardRow,
  next: UsageLimits['next'],
  own: ChosenAgent | undefined,
  now: string,
): Promise<Candidate[]> {
  const others = await Promise.all(next.map(entry => chooseEntry(catalogue, db, card, entry, own)))
  const all = [own, ...others].filter(each => each !== undefined)
  return Promise.all(
    all
      .filter((each, at) => all.findIndex(earlier => isSameChoice(earlier, each)) === at)
      .map(async each => ({
        ...each,
        limitedUntil: await readLimitedUntil(db, { ...each, projectId: card.projectId }, now),
      })),
  )
}

async function chooseOwn(catalogue: Catalogue, db: Reader, card: CardRow): Promise<ChosenAgent | Missing> {
  const choice = await resolveChoice(db, await cardLevels(db, card))
  if (choice.missingProfile !== null) return { missing: `There is no agent profile ${choice.missingProfile}.` }
  const credential = await credentialFor(db, card, choice.profile)
  const { provider, missing } = await chooseProvider(catalogue, choice.agent, choice.profile, credential)
  if (!provider) return { missing }
  return {
    agent: provider.id,
    profile: choice.profile?.name ?? null,
    credentialId: credential?.id ?? null,
    isAsked: false,
    remark: null,
  }
}

/**
 * An entry of the project's list, with its unset fields filled in from the card's own agent. Undefined if that agent cannot
 * start.
 */
async function chooseEntry(
  catalogue: Catalogue,
  db: Reader,
  card: CardRow,
  { agent, profile, credentialId }: UsageLimits['next'][number],
  own: ChosenAgent | undefined,
): Promise<ChosenAgent | undefined> {
  const names = agent === null && profile === null ? own : { agent, profile }
  if (!names) return undefined
  const row = names.profile === null ? null : await readProfileNamed(db, names.profile)
  if (row === undefined) return undefined
  const { agent: named } = await resolveChoice(db, [{ ...noChoice, ...names }])
  const credential =
    credentialId === null ? await credentialFor(db, card, row) : await readCredential(db, Number(credentialId))
  if (named === null || (credentialId !== null && !credential)) return undefined
  const { provider } = await chooseProvider(catalogue, named, row, credential)
  return (
    provider && {
      agent: provider.id,
      profile: row?.name ?? null,
      credentialId: credential?.id ?? null,
      isAsked: credentialId !== null,
      remark: null,
    }
  )
}

const chooseProvider = (
  catalogue: Catalogue,
  agent: string | null,
  profile: ProfileRow | null,
  credential: { provider: Parameters<Catalogue['choose']>[0]['credential'] } | undefined,
): Promise<AgentChoice> =>
  catalogue
    .choose({ agent, program: profile && programOf(profile), credential: credential?.provider ?? null })
    .catch((error): AgentChoice => {
      if (error instanceof InvalidConfig) return { missing: error.message }
      throw error
    })

const programOf = ({ command }: ProfileRow): string | null =>
  command === null ? null : (JSON.parse(command) as string[])[0]!
