import { randomBytes } from 'node:crypto'
import { accessUpTo, appAccess, permissionsOf, type AppAccess } from '../contract/accounts/oauth.ts'
import { Problem } from '../contract/errors.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { hashToken, createToken } from '../domain/accounts/token.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import {
  findOauthClient,
  insertOauthToken,
  setOauthClientApproved,
  type OauthClient,
} from '../store/accounts/oauthServer.ts'
import { markTicket } from '../store/accounts/tickets.ts'
import { grantKey, type MintedKey } from './keys.ts'
import type { AuthContext } from './identity.ts'
import { isRegistered, placeOf, withAnswer } from './redirectUris.ts'
import type { Seal } from './seal.ts'

/** How long a user can take to decide. */
const pendingMs = 600_000
const codeMs = 60_000
/** The number of remembered decisions. Each requires a signed-in user. */
const maxDecided = 10_000
const sealPlace = 'oauth/request'

type Place = Pick<AuthContext, 'config' | 'db'> & { seal: Seal }

/** An app's request in the user's browser. */
export interface AppRequest {
  client_id: string
  redirect_uri?: string
  response_type?: string
  code_challenge?: string
  code_challenge_method?: string
  scope?: string
  state?: string
}
/**
 * A request that waits for a user's decision. It is encrypted in the address of the page, so that strangers who start many
 * requests use no storage.
 */
interface Pending {
  id: string
  clientId: string
  redirectUri: string
  challenge: string
  state?: string
  access: AppAccess[]
  issuer: string
  endsAtMs: number
}

/**
 * Checks an app's request. The user came through a link from an unknown source, so errors are shown here, and the browser is
 * never redirected to an address that a stranger has registered.
 * @returns the encrypted request
 * @throws Problem APP_UNKNOWN, APP_REQUEST_INVALID
 */
export async function beginRequest({ config, db, seal }: Place, asked: AppRequest, issuer: string): Promise<string> {
  const client = await findOauthClient(db, asked.client_id)
  if (!client) throw new Problem('APP_UNKNOWN')
  const redirectUri = redirectUriOf(client, asked.redirect_uri)
  if (asked.response_type !== 'code') throw invalidRequest('response_type must be code')
  if (asked.code_challenge_method !== 'S256') throw invalidRequest('code_challenge_method must be S256')
  if (!/^[\w-]{43}$/.test(asked.code_challenge ?? ''))
    throw invalidRequest('code_challenge must be the SHA-256 of a verifier in base64url')
  const pending: Pending = {
    id: randomBytes(16).toString('base64url'),
    clientId: asked.client_id,
    redirectUri,
    challenge: asked.code_challenge!,
    state: asked.state,
    access: accessOf(asked.scope),
    issuer,
    endsAtMs: config.clock().getTime() + pendingMs,
  }
  return seal.seal(sealPlace, JSON.stringify(pending))
}

const invalidRequest = (message: string) =>
  new Problem('APP_REQUEST_INVALID', `The app's request is not valid: ${message}.`)

function redirectUriOf({ redirectUris }: OauthClient, asked: string | undefined): string {
  const registered = JSON.parse(redirectUris) as string[]
  const wanted = asked ?? (registered.length === 1 ? registered[0]! : '')
  if (!isRegistered(registered, wanted)) throw invalidRequest('redirect_uri is not registered for the app')
  return wanted
}

/** The access levels that an app with scopes can get. An app without known scopes leaves the choice to the user. */
function accessOf(scope = ''): AppAccess[] {
  const highest = appAccess.filter(access => scope.split(' ').includes(access)).at(-1)
  return accessUpTo(highest ?? 'run')
}

/**
 * Opens a request for the user who decides.
 * @throws Problem APP_REQUEST_ENDED, APP_UNKNOWN
 */
export async function openRequest(
  { config, seal }: Pick<Place, 'config' | 'seal'>,
  db: Reader,
  sealed: string,
): Promise<{ pending: Pending; client: OauthClient }> {
  const pending = unseal(seal, sealed)
  if (!pending || pending.endsAtMs <= config.clock().getTime()) throw new Problem('APP_REQUEST_ENDED')
  const client = await findOauthClient(db, pending.clientId)
  if (!client) throw new Problem('APP_UNKNOWN')
  return { pending, client }
}

function unseal(seal: Seal, sealed: string): Pending | undefined {
  try {
    return JSON.parse(seal.open(sealPlace, sealed)) as Pending
  } catch {
    return undefined
  }
}

export const appRequest = ({ pending, client }: Awaited<ReturnType<typeof openRequest>>) => ({
  name: client.name,
  leadsTo: placeOf(pending.redirectUri),
  access: pending.access,
})

/** An approval: its key, and the address to which the browser takes the code. */
export interface Approved extends Pick<MintedKey, 'row'> {
  clientId: string
  redirectTo: string
}

/**
 * Approves an app's request in the caller's name. The key becomes usable once the app has exchanged the code.
 * @throws Problem APP_REQUEST_ENDED, APP_UNKNOWN, PROJECT_NOT_FOUND, VALIDATION_FAILED for more access than requested
 */
export async function approveRequest(
  place: Pick<Place, 'config' | 'seal'>,
  tx: Transaction,
  caller: Caller,
  { request, access, projectId }: { request: string; access: AppAccess; projectId?: number },
): Promise<Approved> {
  const { pending, client } = await openForDecision(place, tx, request)
  if (!pending.access.includes(access))
    throw new Problem('VALIDATION_FAILED', 'access must be one of the requested levels.')
  const code = createToken('svc_oc_')
  const expiresAt = new Date(Date.parse(tx.now) + codeMs).toISOString()
  const row = await grantKey(tx, caller, {
    name: client.name,
    projectId,
    permissions: permissionsOf(access),
    expiresAt,
    app: placeOf(pending.redirectUri),
    oauthClientId: client.id,
  })
  await setOauthClientApproved(tx, client.id)
  const { challenge, redirectUri, state, issuer } = pending
  await insertOauthToken(tx, { kind: 'code', hash: hashToken(code), keyId: row.id, expiresAt, challenge, redirectUri })
  return {
    row,
    clientId: client.clientId,
    redirectTo: withAnswer(redirectUri, { code, state, iss: issuer, error: undefined, error_description: undefined }),
  }
}

/**
 * Refuses an app's request.
 * @returns the address at which the browser notifies the app
 * @throws Problem APP_REQUEST_ENDED, APP_UNKNOWN
 */
export async function refuseRequest(
  place: Pick<Place, 'config' | 'seal'>,
  tx: Transaction,
  request: string,
): Promise<{ redirectTo: string }> {
  const { redirectUri, state, issuer } = (await openForDecision(place, tx, request)).pending
  return { redirectTo: withAnswer(redirectUri, { error: 'access_denied', state, iss: issuer, code: undefined }) }
}

/** A request can be decided only once. */
async function openForDecision(place: Pick<Place, 'config' | 'seal'>, tx: Transaction, request: string) {
  const opened = await openRequest(place, tx, request)
  const mark = { kind: 'oauth-request', key: hashToken(opened.pending.id), value: '', lifeMs: pendingMs }
  if (!(await markTicket(tx, mark, maxDecided))) throw new Problem('APP_REQUEST_ENDED')
  return opened
}
