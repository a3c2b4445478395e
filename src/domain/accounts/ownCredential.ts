import { Problem } from '../../contract/errors.ts'
import { readCredential, type CredentialRow } from '../../store/accounts/credentials.ts'
import type { Reader } from '../../store/engine/database.ts'
import type { Caller } from './caller.ts'

/** Finds a credential of the caller. @throws Problem CREDENTIAL_NOT_FOUND, also for credentials of others */
export async function findOwnCredential(db: Reader, caller: Caller, id: number): Promise<CredentialRow> {
  const credential = await readCredential(db, id)
  if (credential?.userId !== caller.userId) throw new Problem('CREDENTIAL_NOT_FOUND')
  return credential
}
