import type { App } from '../../../src/app.ts'
import { Problem } from '../../../src/contract/errors.ts'
import type { Contract } from '../../../src/contract/index.ts'
import { resourcePath } from '../../../src/contract/accounts/oauth.ts'
import { registerApp, type Registered } from '../../../src/identity/appRegistration.ts'
import {
  appRequest,
  approveRequest,
  beginRequest,
  openRequest,
  refuseRequest,
} from '../../../src/identity/appRequests.ts'
import { refreshTokens, revokeToken, tradeCode, type AppTokens, type Trade } from '../../../src/identity/appTokens.ts'
import { issuerOf, resourceMetadata, serverMetadata } from '../../documents/oauthMetadata.ts'
import { answerPage, askedWronglyPage } from '../../documents/signInPage.ts'
import type { Call, Handlers } from '../../http/handlers.ts'

/** Credentials for an app bypass `call.write`, which would store the secrets. */
export const oauthRoutes = (app: Pick<App, 'config' | 'db' | 'identity' | 'seal'>): Handlers<Contract['oauth']> => {
  const resource = async (_: unknown, { request }: Call) => Response.json(resourceMetadata(issuerOf(app, request)))
  return {
    resource,
    resourceOfMcp: resource,
    server: async (_, { request }) => Response.json(serverMetadata(issuerOf(app, request))),
    register: async ({ client_name: name, redirect_uris: redirectUris }, { address }) =>
      Response.json(clientInformation(await registerApp(app, { name, redirectUris }, address)), { status: 201 }),
    authorize: (input, call) =>
      answerPage(
        call.request.headers.accept,
        async () => {
          const issuer = issuerOf(app, call.request)
          requireResource(issuer, input.resource, 'APP_REQUEST_INVALID')
          return leadTo(`${issuer}/#/connect/${await beginRequest(app, input, issuer)}`)
        },
        askedWronglyPage,
      ),
    request: async ({ request }) => appRequest(await openRequest(app, app.db, request)),
    approve: async (input, { db, caller }) => {
      const { redirectTo } = await db.transaction(tx => approveRequest(app, tx, caller, input))
      return { redirectTo }
    },
    refuse: ({ request }, { db }) => db.transaction(tx => refuseRequest(app, tx, request)),
    token: async (input, { request, address }) => {
      requireResource(issuerOf(app, request), input.resource, 'INVALID_TARGET')
      return Response.json(await exchangeToken(app, input, address))
    },
    revoke: async (input, { address }) => {
      await revokeToken(app, input, address)
      return Response.json({})
    },
  }
}

function exchangeToken(
  app: Pick<App, 'config' | 'db' | 'identity'>,
  input: Trade & { grant_type?: string },
  address: string,
): Promise<AppTokens> {
  if (input.grant_type === 'authorization_code') return tradeCode(app, input, address)
  if (input.grant_type === 'refresh_token') return refreshTokens(app, input, address)
  throw new Problem('UNSUPPORTED_GRANT_TYPE')
}

/**
 * A token is only for this board (RFC 8707). An app that names another resource was misdirected.
 * @throws Problem of the code
 */
function requireResource(issuer: string, resource: string | undefined, code: 'APP_REQUEST_INVALID' | 'INVALID_TARGET') {
  if (resource === undefined) return
  const withoutQuery = (url: string) => url.split('?')[0]!.replace(/\/$/, '')
  const known = [issuer, issuer + resourcePath].map(withoutQuery)
  const asked = URL.canParse(resource) && !resource.includes('#') ? withoutQuery(new URL(resource).href) : ''
  if (!known.includes(asked)) throw new Problem(code, `resource must be ${issuer}${resourcePath}.`)
}

const leadTo = (location: string) =>
  new Response(null, { status: 302, headers: { location, 'referrer-policy': 'no-referrer' } })

const clientInformation = ({ clientId, name, redirectUris }: Registered) => ({
  client_id: clientId,
  client_name: name,
  redirect_uris: redirectUris,
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
})
