import { CredentialProvider } from '../contract/accounts/credentials.ts'

/** An OAuth client that the server's operator has registered with a provider. Some providers require a secret even from public clients. */
export interface OauthClient {
  clientId: string
  clientSecret?: string
  scope?: string
}
export type OauthClients = Partial<Record<CredentialProvider, OauthClient>>

/** The clients that the environment names: BOARD_OAUTH_GITHUB_CLIENT_ID, and if required ..._CLIENT_SECRET and ..._SCOPE. */
export const oauthClients = (env: NodeJS.ProcessEnv): OauthClients =>
  Object.fromEntries(
    CredentialProvider.options.flatMap(provider => {
      const setting = (what: string) => env[`${clientVariable(provider)}_${what}`] || undefined
      const clientId = setting('CLIENT_ID')
      return clientId === undefined
        ? []
        : [[provider, { clientId, clientSecret: setting('CLIENT_SECRET'), scope: setting('SCOPE') }]]
    }),
  )

/** The prefix of the environment variables of a provider's client. */
export const clientVariable = (provider: CredentialProvider): string => `BOARD_OAUTH_${provider.toUpperCase()}`
