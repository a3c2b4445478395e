import type { AgentChoice } from '../../../contract/agents/agentChoice.ts'
import { cardLevels, noChoice, resolveChoice } from '../../../domain/agents/agentChoice.ts'
import { openProfile } from '../../../identity/agentProfiles.ts'
import { readProfileNamed } from '../../../store/agents/agentProfiles.ts'
import type { SessionRow } from '../../../store/agents/sessions.ts'
import { readCard, type CardRow } from '../../../store/cards/cards.ts'
import type { Reader } from '../../../store/engine/database.ts'
import { readProject } from '../../../store/projects/projects.ts'
import { AgentFailure } from '../../link/agentLink.ts'
import type { SessionAgent, SessionStart, WithRecords } from './sessionContext.ts'

/** Reads the card and the project of a session. @throws AgentFailure launch_failed */
export async function readRecords({ dependencies: { db }, session }: SessionStart) {
  const [card, project] = await Promise.all([
    readCard(db, session.projectId, session.cardId),
    readProject(db, session.projectId),
  ])
  if (!card || !project) throw new AgentFailure('launch_failed', 'The card no longer exists.')
  return { card, project }
}

/** Reads the agent of a session with its options. @throws AgentFailure launch_failed, Problem SEALED_WITH_OTHER_KEY */
export async function readAgent({ dependencies, session, card }: WithRecords): Promise<{ agent: SessionAgent | null }> {
  const { db, catalogue, seal } = dependencies
  if (session.purpose === 'terminal') return { agent: null }
  const entries = await catalogue.list().catch((error: Error) => {
    throw new AgentFailure('launch_failed', error.message)
  })
  const entry = entries.find(({ provider }) => provider.id === session.agent)
  if (!entry) throw new AgentFailure('launch_failed', `The agent ${session.agent} no longer exists.`)
  const profileRow = session.profile === null ? null : await readProfileNamed(db, session.profile)
  if (profileRow === undefined)
    throw new AgentFailure('launch_failed', `The profile ${session.profile} no longer exists.`)
  const choice = await resolveChoice(db, await levelsOf(db, session, card), session.agent)
  const profile = profileRow && openProfile(seal, profileRow)
  return { agent: { provider: entry.provider, profileRow, profile, choice } }
}

/**
 * If the session's profile differs from the one that the card's levels choose, the settings of the session's profile take
 * precedence.
 */
async function levelsOf(db: Reader, { agent, profile }: SessionRow, card: CardRow): Promise<AgentChoice[]> {
  const levels = await cardLevels(db, card)
  const chosen = await resolveChoice(db, levels, agent)
  return profile === null || chosen.profile?.name === profile ? levels : [{ ...noChoice, agent, profile }, ...levels]
}
