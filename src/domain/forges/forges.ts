import { invalid } from '../../contract/errors.ts'
import type { ChangedForge } from '../../contract/forges/forge.ts'
import type { Transaction } from '../../store/engine/database.ts'
import { forgeOf, type ProjectRow } from '../../store/projects/projects.ts'
import { retryForge } from '../../store/forges/pullRequestReads.ts'
import type { Caller } from '../accounts/caller.ts'
import { findOwnCredential } from '../accounts/ownCredential.ts'

/**
 * The stored fields of a changed forge. The credential must belong to the caller, unless it is the current one.
 * @throws Problem CREDENTIAL_NOT_FOUND, VALIDATION_FAILED
 */
export async function changedForge(
  tx: Transaction,
  caller: Caller,
  project: ProjectRow,
  { credentialId, ...change }: ChangedForge,
): Promise<Pick<ProjectRow, 'forge' | 'forgeCredentialId'>> {
  if (credentialId && credentialId !== project.forgeCredentialId) await findOwnCredential(tx, caller, credentialId)
  const { credentialId: _, ...settings } = { ...forgeOf(project), ...change }
  if (settings.kind === 'command' && settings.command === null)
    throw invalid('forge.command', 'is required for the kind command')
  const forgeCredentialId = credentialId === undefined ? project.forgeCredentialId : credentialId
  const before = forgeOf(project)
  const isOther = (['kind', 'remote', 'command'] as const).some(name => settings[name] !== before[name])
  // Postponed requests might have failed because of the previous settings.
  if (isOther || forgeCredentialId !== project.forgeCredentialId) retryForge(tx, { projectId: project.id })
  return { forge: JSON.stringify(settings), forgeCredentialId }
}
