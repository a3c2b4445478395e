import { clientVariable, type OauthClient } from '../config/oauthClients.ts'
import type { ServerConfig } from '../config/server.ts'
import type { CredentialProvider } from '../contract/accounts/credentials.ts'
import { invalid } from '../contract/errors.ts'
import type { CredentialRow } from '../store/accounts/credentials.ts'
import type { Database } from '../store/engine/database.ts'
import type { TokenSource } from './oauth.ts'
import type { OutboundDispatcher } from './outboundDispatcher.ts'
import type { Seal } from './seal.ts'

export type DeviceStatus = 'pending' | 'complete' | 'failed' | 'expired'
export interface DeviceRequest {
  provider: CredentialProvider
  name?: string
  baseUrl?: string
  clientId?: string
}

/** A credential's `oauth`, as JSON. The device code is sealed, and deleted after use. */
export interface Authorization {
  status: DeviceStatus
  source: TokenSource
  isServersClient: boolean
  deviceCode?: string
  intervalSecs: number
  expiresAt: string
}

export interface DeviceGrantDependencies {
  config: ServerConfig
  db: Database
  seal: Seal
  outboundDispatcher: OutboundDispatcher
  daemonId: string
}

export const authorizationOf = ({ oauth }: CredentialRow) => JSON.parse(oauth!) as Authorization
/**
 * The lease for polling an authorization. The exchange of its tokens uses a separate lease: with a shared lease, a daemon whose poll ends
 * would release the lease in the middle of its own exchange.
 */
export const authorizationLease = (id: number) => `credential:${id}`
export const exchangeLease = (id: number) => `credential:${id}:tokens`

/** Margin beyond the expected duration of a provider request, after which another daemon takes over. */
export const leaseMs = 30_000

/** The server's own client secret is sent only to the provider's default address, because users choose other addresses. */
export function clientFor(
  { oauthClients }: ServerConfig,
  { provider, baseUrl, clientId }: DeviceRequest,
): { client: OauthClient; isServersClient: boolean } {
  const known = oauthClients[provider]
  if (clientId !== undefined) return { client: { clientId, scope: known?.scope }, isServersClient: false }
  if (!known) throw invalid('clientId', `is required: the server has no ${clientVariable(provider)}_CLIENT_ID`)
  return baseUrl === undefined
    ? { client: known, isServersClient: true }
    : { client: { ...known, clientSecret: undefined }, isServersClient: false }
}

export const clientSecretFor = (
  { oauthClients }: ServerConfig,
  { provider }: CredentialRow,
  { isServersClient, source }: Authorization,
) =>
  isServersClient && oauthClients[provider]?.clientId === source.clientId
    ? oauthClients[provider].clientSecret
    : undefined
