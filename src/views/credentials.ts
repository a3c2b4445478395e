import type { InferOutput } from 'valibot'
import { Credential, MaskedCredential } from '../contract/accounts/credentials.ts'
import { credentialFields, type CredentialRow, type SealedHeaders } from '../store/accounts/credentials.ts'
import { viewOf } from './view.ts'

const headerNames = ({ headers }: CredentialRow): string[] =>
  headers === null ? [] : (JSON.parse(headers) as SealedHeaders).names

/** A credential without anything of its secret. */
export const credential: (row: CredentialRow) => InferOutput<typeof Credential> = viewOf(
  credentialFields,
  Credential,
  'text',
  (row: CredentialRow) => ({ headers: headerNames(row) }),
)

/** A credential with its API key masked; null for an authorization. */
export const maskedCredential: (row: CredentialRow) => InferOutput<typeof MaskedCredential> = viewOf(
  credentialFields,
  MaskedCredential,
  'text',
  (row: CredentialRow) => ({
    headers: headerNames(row),
    apiKey: row.lastFour === null ? null : `…${row.lastFour}`,
  }),
)

/** A project or card, and the credential that it uses. */
export const credentialChoice = (
  id: number,
  credentialId: number | null,
): { id: string; credentialId: string | null } => ({
  id: String(id),
  credentialId: credentialId === null ? null : String(credentialId),
})
