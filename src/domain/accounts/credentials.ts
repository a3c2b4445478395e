import { invalid } from '../../contract/errors.ts'
import { appendEvent } from '../../events/outbox.ts'
import {
  deleteCredential,
  listCredentials,
  listUsage,
  readCredential,
  readCredentialOfCard,
  setOrganizationCredential,
  sumUsage,
  type CredentialRow,
  type UsageRow,
} from '../../store/accounts/credentials.ts'
import type { ProfileRow } from '../../store/agents/agentProfiles.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import { setProjectCredential } from '../../store/projects/projects.ts'
import { projectEvent } from '../../views/projects.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import { cardLevels, projectLevels, resolveChoice } from '../agents/agentChoice.ts'
import type { Caller } from './caller.ts'
import { changeCard } from '../cards/cardChanges.ts'
import * as cards from '../cards/cards.ts'
import { findOwnCredential } from './ownCredential.ts'
import * as projects from '../projects/projects.ts'
import type { Agents } from '../agents/sessions.ts'

const maxUsageDays = 366

/** A credential's total usage, and that of the latest days. */
export interface Usage extends Omit<UsageRow, 'day'> {
  byDay: UsageRow[]
}

export { findOwnCredential as find } from './ownCredential.ts'

/** The caller's credentials, oldest first. */
export const list = (db: Reader, caller: Caller): Promise<CredentialRow[]> => listCredentials(db, caller.userId)

/** Deletes one of the caller's credentials and clears it from its uses. @throws Problem CREDENTIAL_NOT_FOUND */
export async function remove(tx: Transaction, caller: Caller, id: number): Promise<void> {
  await deleteCredential(tx, (await findOwnCredential(tx, caller, id)).id)
}

/** @throws Problem CREDENTIAL_NOT_FOUND */
export async function usage(db: Reader, caller: Caller, id: number): Promise<Usage> {
  await findOwnCredential(db, caller, id)
  const { sessions, inputTokens, outputTokens, costUsd } = await sumUsage(db, id)
  return { sessions, inputTokens, outputTokens, costUsd, byDay: await listUsage(db, id, maxUsageDays) }
}

/**
 * Sets one of the caller's credentials, or none, for a project's agents.
 * @throws Problem PROJECT_NOT_FOUND, CREDENTIAL_NOT_FOUND, VALIDATION_FAILED if the project's agent does not support it
 */
export async function choose(
  tx: Transaction,
  agents: Agents,
  caller: Caller,
  projectId: number,
  credentialId: number | null,
): Promise<void> {
  await requireOwn(tx, caller, credentialId)
  await setProjectCredential(tx, projectId, credentialId)
  await requireTakenInProject(tx, agents, projectId, 'credentialId')
  await appendEvent(tx, 'project.updated', projectId, projectEvent(await projects.find(tx, projectId)))
}

/**
 * Sets one of the caller's credentials, or none, for a card's agent.
 * @throws Problem CARD_NOT_FOUND, CREDENTIAL_NOT_FOUND, VALIDATION_FAILED if the card's agent does not support it
 */
export async function chooseForCard(
  tx: Transaction,
  agents: Agents,
  caller: Caller,
  ref: cards.CardRef,
  credentialId: number | null,
): Promise<void> {
  const card = await cards.find(tx, ref)
  await requireOwn(tx, caller, credentialId)
  await requireTakenOnCard(tx, agents, await changeCard(tx, card, { credentialId }), 'credentialId')
}

/** Sets one of the caller's credentials, or none, as an organization's default. @throws Problem CREDENTIAL_NOT_FOUND */
export async function chooseForOrganization(
  tx: Transaction,
  caller: Caller,
  organizationId: number,
  credentialId: number | null,
): Promise<void> {
  await requireOwn(tx, caller, credentialId)
  await setOrganizationCredential(tx, organizationId, credentialId)
}

/** The credential of a card's agent: the card's, otherwise its profile's, its project's, its organization's default. */
export const credentialFor = (
  db: Reader,
  card: { id: number },
  profile: Pick<ProfileRow, 'credentialId'> | null,
): Promise<CredentialRow | undefined> => readCredentialOfCard(db, card.id, profile?.credentialId ?? null)

/** @throws Problem VALIDATION_FAILED naming `field` if the agent chosen for a card does not support its credential */
export async function requireTakenOnCard(db: Reader, agents: Agents, card: CardRow, field: string): Promise<void> {
  const { agent, profile } = await resolveChoice(db, await cardLevels(db, card))
  await requireTaken(agents, agent, await credentialFor(db, card, profile), field)
}

/** Like `requireTakenOnCard`, for the cards of a project without their own choice. */
export async function requireTakenInProject(
  db: Reader,
  agents: Agents,
  projectId: number,
  field: string,
): Promise<void> {
  const { credentialId } = await projects.find(db, projectId)
  if (credentialId === null) return
  const { agent } = await resolveChoice(db, await projectLevels(db, projectId))
  await requireTaken(agents, agent, await readCredential(db, credentialId), field)
}

async function requireTaken(
  agents: Agents,
  agent: string | null,
  credential: CredentialRow | undefined,
  field: string,
): Promise<void> {
  if (agent === null || !credential) return
  const problem = await agents.credentialProblem(agent, credential.provider)
  if (problem) throw invalid(field, problem)
}

async function requireOwn(tx: Transaction, caller: Caller, credentialId: number | null): Promise<void> {
  if (credentialId !== null) await findOwnCredential(tx, caller, credentialId)
}
