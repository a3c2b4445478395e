import type { IncomingMessage } from 'node:http'
import type { App } from '../../src/app.ts'
import { schemeOf } from '../../src/config/server.ts'
import { contract } from '../../src/contract/index.ts'
import { appAccess, resourcePath } from '../../src/contract/accounts/oauth.ts'
import { serverUrl } from './serverUrl.ts'

/**
 * The board's address for the app. Without a public address, it is the Host of the request, because an app compares it with
 * the address of its request. The Host is one of the server's accepted names.
 */
export function issuerOf(app: Pick<App, 'config'>, request: IncomingMessage): string {
  const { host } = request.headers
  return app.config.publicUrl === undefined && host !== undefined
    ? `${schemeOf(app.config)}://${host.toLowerCase()}`
    : serverUrl(app, { request })
}

/** The challenge for a request without a valid token (RFC 9728, 5.1). */
export const oauthChallenge = (app: Pick<App, 'config'>, request: IncomingMessage): string =>
  `Bearer resource_metadata="${issuerOf(app, request)}${contract.oauth.resourceOfMcp.path}"`

/** The metadata that names the authorization server of the resource (RFC 9728). */
export const resourceMetadata = (issuer: string) => ({
  resource: issuer + resourcePath,
  resource_name: 'board',
  authorization_servers: [issuer],
  scopes_supported: appAccess,
  bearer_methods_supported: ['header'],
})

/** The metadata of token requests (RFC 8414). Apps have no secrets: PKCE binds each code to the app that requested it. */
export const serverMetadata = (issuer: string) => ({
  issuer,
  authorization_endpoint: issuer + contract.oauth.authorize.path,
  token_endpoint: issuer + contract.oauth.token.path,
  registration_endpoint: issuer + contract.oauth.register.path,
  revocation_endpoint: issuer + contract.oauth.revoke.path,
  scopes_supported: appAccess,
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
})
