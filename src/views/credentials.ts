import type { InferOutput } from 'valibot'
import type { Credential, MaskedCredential } from '../contract/credentials.ts'
import type { CredentialRow } from '../store/credentials.ts'

/** A credential without anything of its secret. */
export const credential = (row: CredentialRow): InferOutput<typeof Credential> => ({
  id: String(row.id),
  name: row.name,
  provider: row.provider,
  baseUrl: row.baseUrl,
  kind: row.kind,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** A credential with its API key masked; null for an authorization. */
export const maskedCredential = (row: CredentialRow): InferOutput<typeof MaskedCredential> => ({
  ...credential(row),
  apiKey: row.lastFour === null ? null : `…${row.lastFour}`,
})

/** Which credential something uses now. */
export const chosen = (id: number, credentialId: number | null): { id: string; credentialId: string | null } => ({
  id: String(id),
  credentialId: credentialId === null ? null : String(credentialId),
})
