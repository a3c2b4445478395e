import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../contract/errors.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { find } from '../domain/accounts/credentials.ts'
import {
  countPendingAuthorizations,
  insertCredential,
  readCredential,
  setAuthorization,
  type CredentialRow,
} from '../store/accounts/credentials.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import { secretPlace } from './credentials.ts'
import {
  authorizationLease,
  authorizationOf,
  clientFor,
  clientSecretFor,
  leaseMs,
  type Authorization,
  type DeviceGrantDependencies,
  type DeviceRequest,
  type DeviceStatus,
} from './deviceAuthorization.ts'
import { isOld, renewTokens, tokensOf } from './deviceTokens.ts'
import { pollDeviceCode, requestDeviceCode, requireDeviceAuthorization, type PollResult, type Tokens } from './oauth.ts'
import type { Secret } from './providers.ts'
import { acquireLease, type Lease } from './lease.ts'

const maxPending = 10
const slowerSecs = 5

interface StartedGrant {
  id: number
  userCode: string
  verificationUri: string
  expiresAt: string
}

/**
 * Device authorizations (RFC 8628), polled in the background by one daemon at a time, never faster than the provider
 * allows.
 */
export interface DeviceGrants {
  /** @throws Problem VALIDATION_FAILED, PROVIDER_UNAVAILABLE, CONFLICT with ten pending ones */
  start(caller: Caller, request: DeviceRequest): Promise<StartedGrant>
  /**
   * Returns the status, and resumes polling after a restart.
   * @throws Problem CREDENTIAL_NOT_FOUND, CONFLICT for an API key, SEALED_WITH_OTHER_KEY
   */
  status(caller: Caller, id: number): Promise<DeviceStatus>
  /**
   * The secret for a credential's provider. Expiring tokens are refreshed first.
   * @throws Problem CONFLICT if there is no secret yet, SEALED_WITH_OTHER_KEY
   */
  secretOf(credential: CredentialRow): Promise<Secret>
  close(): Promise<void>
}

const codePlace = (id: number) => `credentials/${id}/device-code`

export function createDeviceGrants(dependencies: DeviceGrantDependencies): DeviceGrants {
  const { db, config, seal } = dependencies
  const polls = new Map<number, Promise<void>>()
  const refreshes = new Map<number, Promise<Tokens>>()
  const closing = new AbortController()
  // The signal has one listener per poll.
  setMaxListeners(0, closing.signal)

  const followGrant = (id: number, deviceCode: string) => {
    // A failed poll is retried with the next request for the status.
    if (!polls.has(id) && !closing.signal.aborted)
      polls.set(
        id,
        pollGrant(dependencies, id, deviceCode, closing.signal)
          .catch(() => undefined)
          .finally(() => polls.delete(id)),
      )
  }
  return {
    start: async (caller, request) => {
      const { id, deviceCode, ...started } = await beginGrant(dependencies, caller, request)
      followGrant(id, deviceCode)
      return { id, ...started }
    },
    status: async (caller, id) => {
      const credential = await find(db, caller, id)
      if (credential.kind !== 'oauth')
        throw new Problem('CONFLICT', 'The credential is an API key, not an OAuth authorization.')
      const { status, deviceCode, expiresAt } = authorizationOf(credential)
      if (status !== 'pending') return status
      if (expiresAt <= config.clock().toISOString()) return storeOutcome(dependencies, id, 'expired')
      followGrant(id, seal.open(codePlace(id), deviceCode!))
      return status
    },
    secretOf: async credential => {
      if (credential.sealed === null)
        throw new Problem(
          'CONFLICT',
          `The credential has no secret: its authorization is ${authorizationOf(credential).status}.`,
        )
      if (credential.kind === 'api_key')
        return { kind: 'api_key', token: seal.open(secretPlace(credential), credential.sealed) }
      if (!isOld(tokensOf(seal, credential), config.clock()))
        return { kind: 'oauth', token: tokensOf(seal, credential).accessToken }
      if (!refreshes.has(credential.id))
        refreshes.set(
          credential.id,
          renewTokens(dependencies, credential.id).finally(() => refreshes.delete(credential.id)),
        )
      return { kind: 'oauth', token: (await refreshes.get(credential.id)!).accessToken }
    },
    close: async () => {
      closing.abort()
      await Promise.all(polls.values())
    },
  }
}

async function beginGrant(
  { config, db, seal, outboundDispatcher }: DeviceGrantDependencies,
  caller: Caller,
  request: DeviceRequest,
): Promise<StartedGrant & { deviceCode: string }> {
  requireDeviceAuthorization(request.provider)
  const { client, isServersClient } = clientFor(config, request)
  await requireRoom(db, caller, config.clock().toISOString())
  const { source, deviceCode, userCode, verificationUri, expiresInSecs, intervalSecs } = await requestDeviceCode(
    request.provider,
    request.baseUrl,
    client,
    await outboundDispatcher(caller.userId),
  )
  return db.transaction(async tx => {
    await requireRoom(tx, caller, tx.now)
    const expiresAt = new Date(Date.parse(tx.now) + expiresInSecs * 1000).toISOString()
    const id = await insertCredential(tx, {
      userId: caller.userId,
      name: request.name ?? request.provider,
      provider: request.provider,
      kind: 'oauth',
      baseUrl: request.baseUrl ?? null,
    })
    const authorization: Authorization = {
      status: 'pending',
      source,
      isServersClient,
      deviceCode: seal.seal(codePlace(id), deviceCode),
      intervalSecs,
      expiresAt,
    }
    await setAuthorization(tx, id, { oauth: JSON.stringify(authorization), sealed: null })
    return { id, deviceCode, userCode, verificationUri, expiresAt }
  })
}

async function requireRoom(db: Reader, { userId }: Caller, now: string): Promise<void> {
  if ((await countPendingAuthorizations(db, userId, now)) >= maxPending)
    throw new Problem('CONFLICT', `At most ${maxPending} authorizations can be pending at once.`)
}

/** Polls until there is an outcome, the code has expired, or the credential was deleted. */
async function pollGrant(
  dependencies: DeviceGrantDependencies,
  id: number,
  deviceCode: string,
  signal: AbortSignal,
): Promise<void> {
  const { config, db, outboundDispatcher } = dependencies
  for (;;) {
    const waiting = await readPending(db, id)
    if (!waiting) return
    await delay(waiting.authorization.intervalSecs * 1000, undefined, { signal, ref: false })
    const lease = await acquireLease(
      db,
      dependencies.daemonId,
      authorizationLease(id),
      waiting.authorization.intervalSecs * 1000 + leaseMs,
    )
    if (!lease) continue
    const credential = await readPending(db, id)
    if (!credential) return db.transaction(tx => lease.release(tx))
    const { authorization } = credential
    const now = config.clock()
    const isOver = authorization.expiresAt <= now.toISOString()
    const result = isOver
      ? 'expired'
      : await pollDeviceCode({
          source: authorization.source,
          clientSecret: clientSecretFor(config, credential.row, authorization),
          deviceCode,
          now,
          signal,
          dispatcher: await outboundDispatcher(credential.row.userId),
        })
    if (signal.aborted && typeof result === 'string') return
    if (result !== 'pending') await storeOutcome(dependencies, id, result, lease)
  }
}

async function readPending(
  db: Database,
  id: number,
): Promise<{ row: CredentialRow; authorization: Authorization } | undefined> {
  const row = await readCredential(db, id)
  const authorization = row?.oauth ? authorizationOf(row) : undefined
  return row && authorization?.status === 'pending' ? { row, authorization } : undefined
}

/**
 * Stores an outcome, or the provider's polling interval, unless there already is an outcome.
 * @returns the authorization's state. A daemon whose lease has expired stores only tokens, because its failure can mean that another daemon
 * has used the code.
 */
const storeOutcome = (
  { db, seal }: DeviceGrantDependencies,
  id: number,
  result: Exclude<PollResult, 'pending'>,
  lease?: Lease,
): Promise<DeviceStatus> =>
  db.transaction(async tx => {
    const row = await readCredential(tx, id)
    if (!row) throw new Problem('CREDENTIAL_NOT_FOUND')
    const { deviceCode, ...authorization } = authorizationOf(row)
    if (authorization.status !== 'pending' || (lease && typeof result === 'string' && !(await lease.isHeld(tx))))
      return authorization.status
    const status = typeof result === 'object' ? 'complete' : result === 'slow_down' ? 'pending' : result
    const after: Authorization =
      result === 'slow_down'
        ? { ...authorization, deviceCode, intervalSecs: authorization.intervalSecs + slowerSecs }
        : { ...authorization, status }
    const sealed = typeof result === 'object' ? seal.seal(secretPlace(row), JSON.stringify(result.tokens)) : null
    await setAuthorization(tx, id, { oauth: JSON.stringify(after), sealed })
    if (status !== 'pending') await lease?.release(tx)
    return status
  })
