import { invalid } from '../contract/errors.ts'
import type { CredentialProvider } from '../contract/accounts/credentials.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { find } from '../domain/accounts/credentials.ts'
import {
  insertCredential,
  updateCredential,
  type CredentialRow,
  type SealedHeaders,
} from '../store/accounts/credentials.ts'
import type { Transaction } from '../store/engine/database.ts'
import { retryForge } from '../store/forges/pullRequestReads.ts'
import { baseUrlOf } from './providers.ts'
import type { Seal } from './seal.ts'

const minMaskableLength = 12

export interface NewCredential {
  name: string
  provider: CredentialProvider
  apiKey?: string
  baseUrl?: string | null
  headers?: Record<string, string>
  models?: readonly string[]
}
export interface CredentialChange {
  name?: string
  apiKey?: string
  baseUrl?: string | null
  headers?: Record<string, string>
  models?: readonly string[]
  agentSlots?: number | null
}

/** The place to which a credential's secret is bound when sealed. */
export const secretPlace = ({ id }: Pick<CredentialRow, 'id'>): string => `credentials/${id}/secret`

/**
 * Encrypts and stores an API key of the caller.
 * @throws Problem VALIDATION_FAILED without a key, or without an address if the provider has none
 */
export async function create(
  seal: Seal,
  tx: Transaction,
  caller: Caller,
  { name, provider, apiKey, baseUrl = null, headers = {}, models = [] }: NewCredential,
): Promise<CredentialRow> {
  if (apiKey === undefined)
    throw invalid('apiKey', 'is required. To authorize without a key, use POST /api/credentials/oauth/init')
  baseUrlOf({ provider, baseUrl })
  const id = await insertCredential(tx, { userId: caller.userId, name, provider, kind: 'api_key', baseUrl })
  await updateCredential(tx, id, {
    name,
    baseUrl,
    headers: sealedHeaders(seal, id, headers),
    models: JSON.stringify(models),
    ...sealApiKey(seal, { id }, apiKey),
  })
  return find(tx, caller, id)
}

/**
 * Changes one of the caller's credentials. A key is only sent to the server that it was entered for: a new address
 * needs the key again.
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
    throw invalid('apiKey', 'must be entered again if baseUrl changes to another server')
  if (before.headers !== null && change.headers === undefined && server !== originOf(before))
    throw invalid('headers', 'must be entered again if baseUrl changes to another server')
  const secret = change.apiKey === undefined ? before : sealApiKey(seal, before, change.apiKey)
  await updateCredential(tx, id, {
    name: change.name ?? before.name,
    baseUrl: after.baseUrl,
    sealed: secret.sealed,
    lastFour: secret.lastFour,
    headers: change.headers ? sealedHeaders(seal, id, change.headers) : before.headers,
    models: change.models ? JSON.stringify(change.models) : before.models,
    agentSlots: change.agentSlots === undefined ? before.agentSlots : change.agentSlots,
  })
  if (secret !== before || server !== originOf(before)) retryForge(tx, { credentialId: id })
  return find(tx, caller, id)
}

function requireNameOnly({ apiKey, baseUrl }: CredentialChange): void {
  if (apiKey !== undefined) throw invalid('apiKey', 'cannot be combined with an authorization')
  if (baseUrl !== undefined) throw invalid('baseUrl', 'of an authorization cannot be changed')
}

const originOf = (credential: Pick<CredentialRow, 'provider' | 'baseUrl'>) => new URL(baseUrlOf(credential)).origin

const headersPlace = (id: number): string => `credentials/${id}/headers`

function sealedHeaders(seal: Seal, id: number, headers: Readonly<Record<string, string>>): string | null {
  const names = Object.keys(headers)
  const stored: SealedHeaders = { names, sealed: seal.seal(headersPlace(id), JSON.stringify(headers)) }
  return names.length === 0 ? null : JSON.stringify(stored)
}

/** The extra headers of a credential's requests. @throws Problem SEALED_WITH_OTHER_KEY */
export function headersOf(seal: Seal, { id, headers }: Pick<CredentialRow, 'id' | 'headers'>): Record<string, string> {
  if (headers === null) return {}
  return JSON.parse(seal.open(headersPlace(id), (JSON.parse(headers) as SealedHeaders).sealed)) as Record<
    string,
    string
  >
}

/** Four characters of a short key would reveal too much of it. */
const sealApiKey = (seal: Seal, credential: Pick<CredentialRow, 'id'>, apiKey: string) => ({
  sealed: seal.seal(secretPlace(credential), apiKey),
  lastFour: apiKey.length < minMaskableLength ? '' : apiKey.slice(-4),
})
