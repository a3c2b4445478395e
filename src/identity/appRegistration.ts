import { createHmac, randomBytes } from 'node:crypto'
import { isVisible } from '../contract/fields.ts'
import { Problem } from '../contract/errors.ts'
import { addToCounter } from '../store/server/counters.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import { findOauthClient, insertOauthClient, type OauthClient } from '../store/accounts/oauthServer.ts'
import { isRedirectUri } from './redirectUris.ts'
import type { Seal } from './seal.ts'
import { networkOf } from './throttle.ts'

const maxRegistrationsPerHour = 60
const hourMs = 3_600_000
/** The maximum number of apps that no user has allowed yet. If there are more, the oldest are deleted. */
const maxUnused = 1000
const maxNameCharacters = 80
const namelessApp = 'An app without a name'

/** A registered app. */
export interface Registered {
  clientId: string
  name: string
  redirectUris: readonly string[]
}

/**
 * Registers an app. The app does not get a secret: the address of the response and the verifier identify the app.
 * @throws Problem INVALID_REDIRECT_URI, RATE_LIMITED for too many registrations from an address in an hour
 */
export async function registerApp(
  { db, seal }: { db: Database; seal: Seal },
  given: { name?: string; redirectUris: readonly string[] },
  address: string,
): Promise<Registered> {
  if (!given.redirectUris.every(isRedirectUri)) throw new Problem('INVALID_REDIRECT_URI')
  const app = {
    clientId: randomBytes(16).toString('base64url'),
    name: shownName(given.name),
    redirectUris: [...new Set(given.redirectUris)],
  }
  await db.transaction(async tx => {
    const { taken, leftMs } = await addToCounter(tx, `registrations/${networkHash(seal, address)}`, 1, hourMs)
    if (taken > maxRegistrationsPerHour)
      throw new Problem('RATE_LIMITED', 'Too many apps were registered from this address. Try again later.', {
        retryAfterSecs: leftMs / 1000,
      })
    await insertOauthClient(tx, { ...app, redirectUris: JSON.stringify(app.redirectUris) }, maxUnused)
  })
  return app
}

/** @throws Problem INVALID_CLIENT */
export async function requireApp(db: Reader, clientId = ''): Promise<OauthClient> {
  const app = await findOauthClient(db, clientId)
  if (!app) throw new Problem('INVALID_CLIENT')
  return app
}

/** The app's own name for display, without characters that reverse or hide the text around it. */
function shownName(given = ''): string {
  const name = given
    .replace(/\s+/g, ' ')
    .replace(/[\p{C}\p{Default_Ignorable_Code_Point}]/gu, '')
    .trim()
  return isVisible(name) ? [...name].slice(0, maxNameCharacters).join('') : namelessApp
}

/**
 * 20 bits limit the number of counters that strangers can create. With the secret, attackers cannot choose an address that shares
 * a victim's counter.
 */
const networkHash = (seal: Seal, address: string): string =>
  createHmac('sha256', seal.derive('board registrations')).update(networkOf(address)).digest('hex').slice(0, 5)
