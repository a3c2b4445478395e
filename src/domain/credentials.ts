import { Problem } from '../contract/errors.ts'
import { append } from '../events/outbox.ts'
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
} from '../store/credentials.ts'
import type { Reader, Transaction } from '../store/database.ts'
import { setProjectCredential } from '../store/projects.ts'
import { projectEvent } from '../views/projects.ts'
import type { Caller } from './caller.ts'
import { changeCard } from './cardChanges.ts'
import * as cards from './cards.ts'
import * as projects from './projects.ts'

const maxUsageDays = 366

/** What agents have used with a credential: in all, and on the latest days. */
export interface Usage extends Omit<UsageRow, 'day'> {
  byDay: UsageRow[]
}

/** One of the caller's credentials. @throws Problem CREDENTIAL_NOT_FOUND, also for those of others */
export async function find(db: Reader, caller: Caller, id: number): Promise<CredentialRow> {
  const credential = await readCredential(db, id)
  if (credential?.userId !== caller.userId) throw new Problem('CREDENTIAL_NOT_FOUND')
  return credential
}

/** The caller's credentials, oldest first. */
export const list = (db: Reader, caller: Caller): Promise<CredentialRow[]> => listCredentials(db, caller.userId)

/** Deletes one of the caller's credentials; what used it has none then. @throws Problem CREDENTIAL_NOT_FOUND */
export async function remove(tx: Transaction, caller: Caller, id: number): Promise<void> {
  await deleteCredential(tx, (await find(tx, caller, id)).id)
}

/** @throws Problem CREDENTIAL_NOT_FOUND */
export async function usage(db: Reader, caller: Caller, id: number): Promise<Usage> {
  await find(db, caller, id)
  const { sessions, inputTokens, outputTokens, costUsd } = await sumUsage(db, id)
  return { sessions, inputTokens, outputTokens, costUsd, byDay: await listUsage(db, id, maxUsageDays) }
}

/** Has a project's agents use one of the caller's credentials, or none. @throws Problem PROJECT_NOT_FOUND, CREDENTIAL_NOT_FOUND */
export async function choose(
  tx: Transaction,
  caller: Caller,
  projectId: number,
  credentialId: number | null,
): Promise<void> {
  await requireOwn(tx, caller, credentialId)
  await setProjectCredential(tx, projectId, credentialId)
  await append(tx, 'project.updated', projectId, projectEvent(await projects.find(tx, projectId)))
}

/** Has a card's agent use one of the caller's credentials, or none of its own. @throws Problem CARD_NOT_FOUND, CREDENTIAL_NOT_FOUND */
export async function chooseForCard(
  tx: Transaction,
  caller: Caller,
  ref: cards.CardRef,
  credentialId: number | null,
): Promise<void> {
  const card = await cards.find(tx, ref)
  await requireOwn(tx, caller, credentialId)
  await changeCard(tx, card, { credentialId })
}

/** Has an organization's projects use one of the caller's credentials where they have none of their own, or none. @throws Problem CREDENTIAL_NOT_FOUND */
export async function chooseForOrganization(
  tx: Transaction,
  caller: Caller,
  organizationId: number,
  credentialId: number | null,
): Promise<void> {
  await requireOwn(tx, caller, credentialId)
  await setOrganizationCredential(tx, organizationId, credentialId)
}

/** The credential that a card's agent uses: the card's, else its project's, else its organization's default. */
export const credentialFor = (db: Reader, card: { id: number }): Promise<CredentialRow | undefined> =>
  readCredentialOfCard(db, card.id)

async function requireOwn(tx: Transaction, caller: Caller, credentialId: number | null): Promise<void> {
  if (credentialId !== null) await find(tx, caller, credentialId)
}
