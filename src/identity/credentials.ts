import { invalid } from '../contract/errors.ts'
import type { CredentialProvider } from '../contract/credentials.ts'
import type { Caller } from '../domain/caller.ts'
import { find } from '../domain/credentials.ts'
import { insertCredential, updateCredential, type CredentialRow } from '../store/credentials.ts'
import type { Transaction } from '../store/database.ts'
import { baseUrlOf } from './providers.ts'
import type { Seal } from './seal.ts'

const minMaskableLength = 12

export interface NewCredential {
  name: string
  provider: CredentialProvider
  apiKey?: string
  baseUrl?: string | null
}
export interface CredentialChange {
  name?: string
  apiKey?: string
  baseUrl?: string | null
}

/** Where a credential's API key or tokens are sealed. */
export const secretPlace = ({ id }: Pick<CredentialRow, 'id'>): string => `credentials/${id}/secret`

/** Keeps an API key of the caller's, sealed. @throws Problem VALIDATION_FAILED without a key, or without an address where the provider has none */
export async function create(
  seal: Seal,
  tx: Transaction,
  caller: Caller,
  { name, provider, apiKey, baseUrl = null }: NewCredential,
): Promise<CredentialRow> {
  if (apiKey === undefined)
    throw invalid('apiKey', 'is required; without one, start with POST /api/credentials/oauth/init')
  baseUrlOf({ provider, baseUrl })
  const id = await insertCredential(tx, { userId: caller.userId, name, provider, kind: 'api_key', baseUrl })
  await updateCredential(tx, id, { name, baseUrl, ...sealed(seal, { id }, apiKey) })
  return find(tx, caller, id)
}

/**
 * Changes one of the caller's credentials. A key goes to the server that it was entered for: it is wanted again with another one.
 * @throws Problem CREDENTIAL_NOT_FOUND, VALIDATION_FAILED
 */
export async function update(
  seal: Seal,
  tx: Transaction,
  caller: Caller,
  id: number,
  change: CredentialChange,
): Promise<CredentialRow> {
  const before = await find(tx, caller, id)
  if (before.kind === 'oauth') requireNameOnly(change)
  const after = { provider: before.provider, baseUrl: change.baseUrl === undefined ? before.baseUrl : change.baseUrl }
  const server = originOf(after)
  if (before.kind === 'api_key' && change.apiKey === undefined && server !== originOf(before))
    throw invalid('apiKey', 'must be given again when baseUrl leads to another server')
  const secret = change.apiKey === undefined ? before : sealed(seal, before, change.apiKey)
  await updateCredential(tx, id, {
    name: change.name ?? before.name,
    baseUrl: after.baseUrl,
    sealed: secret.sealed,
    lastFour: secret.lastFour,
  })
  return find(tx, caller, id)
}

function requireNameOnly({ apiKey, baseUrl }: CredentialChange): void {
  if (apiKey !== undefined) throw invalid('apiKey', 'does not go with an authorization')
  if (baseUrl !== undefined) throw invalid('baseUrl', 'of an authorization cannot be changed')
}

const originOf = (credential: Pick<CredentialRow, 'provider' | 'baseUrl'>) => new URL(baseUrlOf(credential)).origin

/** Of a short key four characters would be too much. */
const sealed = (seal: Seal, credential: Pick<CredentialRow, 'id'>, apiKey: string) => ({
  sealed: seal.seal(secretPlace(credential), apiKey),
  lastFour: apiKey.length < minMaskableLength ? '' : apiKey.slice(-4),
})
