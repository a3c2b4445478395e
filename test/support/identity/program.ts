import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { redirectUri } from './connectedApp.ts'

/** The protocol's own client, which stores its data in memory, and whose user decides as configured. */
export class Program implements OAuthClientProvider {
  kept: Record<string, any> = {}
  /** Where the client sends the person's browser. */
  asked: URL | undefined
  readonly redirectUrl = redirectUri
  readonly clientMetadata = {
    client_name: 'Inspector',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
  state = () => 'of-the-program'
  clientInformation = () => this.kept.client
  saveClientInformation = (client: unknown) => void (this.kept.client = client)
  tokens = () => this.kept.tokens
  saveTokens = (tokens: unknown) => void (this.kept.tokens = tokens)
  saveCodeVerifier = (verifier: string) => void (this.kept.verifier = verifier)
  codeVerifier = () => this.kept.verifier as string
  redirectToAuthorization = (url: URL) => void (this.asked = url)
  invalidateCredentials = (scope: string) => void (scope === 'all' ? (this.kept = {}) : delete this.kept.tokens)
}
