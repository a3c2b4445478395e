import { hash } from 'node:crypto'
import type { EmailVerification } from '../contract/accounts/oidc.ts'
import { invalid, Problem } from '../contract/errors.ts'
import { isLoopbackHost } from '../contract/networkHosts.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { deleteServerSetting, readServerSetting, writeServerSetting } from '../store/server/serverSettings.ts'
import type { Seal } from './seal.ts'

const group = 'oidc'

/** Restrictions on who can sign in. An empty list does not restrict. Domains are in lower case. */
export interface OidcBounds {
  allowedDomains: readonly string[]
  allowedGroups: readonly string[]
  /** The claim that contains a user's groups. */
  groupsClaim: string
  emailVerification: EmailVerification
}
/** The identity provider for sign-ins. The client secret is sealed. */
export interface OidcSettings extends OidcBounds {
  issuerUrl: string
  clientId: string
  sealedSecret: string
}

const noBounds: OidcBounds = {
  allowedDomains: [],
  allowedGroups: [],
  groupsClaim: 'groups',
  emailVerification: 'required',
}

export const isOidcConfigured = async (db: Reader): Promise<boolean> =>
  (await readServerSetting(db, group)) !== undefined

export async function readOidcSettings(db: Reader): Promise<OidcSettings | undefined> {
  const stored = await readServerSetting(db, group)
  return stored === undefined ? undefined : { ...noBounds, ...(JSON.parse(stored) as OidcSettings) }
}

/** @throws Problem OIDC_NOT_CONFIGURED */
export async function requireOidcSettings(db: Reader): Promise<OidcSettings> {
  const settings = await readOidcSettings(db)
  if (!settings) throw new Problem('OIDC_NOT_CONFIGURED')
  return settings
}

/** Whether a URL is allowed for a provider. A URL without TLS is allowed only on this machine. */
export const mayBeProvider = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))

type NewOidcSettings = Partial<OidcBounds> & { issuerUrl: string; clientId: string; clientSecret: string }

/**
 * Stores the settings (specification "OIDC single sign-on"). Omitted restrictions are unchanged. Another issuer must verify
 * addresses unless `emailVerification` is given.
 * @throws Problem VALIDATION_FAILED for an issuer without TLS that is not on this machine, or one with a query, a fragment or a
 * password
 */
export async function setOidcSettings(
  seal: Seal,
  tx: Transaction,
  { issuerUrl, clientId, clientSecret, ...bounds }: NewOidcSettings,
): Promise<OidcSettings> {
  const url = new URL(issuerUrl)
  if (!mayBeProvider(url)) throw invalid('issuerUrl', 'must be an https URL, or a URL of this machine')
  if (/[?#]/.test(issuerUrl) || url.username || url.password)
    throw invalid('issuerUrl', 'must not have a query, a fragment or a password')
  const before = await readOidcSettings(tx)
  const { allowedDomains, allowedGroups, groupsClaim } = before ?? noBounds
  const { emailVerification } = before?.issuerUrl === issuerUrl ? before : noBounds
  const settings = {
    allowedDomains: bounds.allowedDomains ?? allowedDomains,
    allowedGroups: bounds.allowedGroups ?? allowedGroups,
    groupsClaim: bounds.groupsClaim ?? groupsClaim,
    emailVerification: bounds.emailVerification ?? emailVerification,
    issuerUrl,
    clientId,
    sealedSecret: seal.seal(secretPlace({ issuerUrl, clientId }), clientSecret),
  }
  await writeServerSetting(tx, group, JSON.stringify(settings))
  return settings
}

/** Existing sign-ins stay valid. */
export const deleteOidcSettings = (tx: Transaction): Promise<void> => deleteServerSetting(tx, group)

/** @throws Problem SEALED_WITH_OTHER_KEY */
export const openClientSecret = (seal: Seal, settings: OidcSettings): string =>
  seal.open(secretPlace(settings), settings.sealedSecret)

/** Binds the secret to its issuer and client. */
const secretPlace = ({ issuerUrl, clientId }: Pick<OidcSettings, 'issuerUrl' | 'clientId'>) =>
  `oidc/${JSON.stringify([issuerUrl, clientId])}/secret`

/** A text that changes with the settings. It also changes if the same secret is set again, because sealing is randomized. */
export const fingerprintOf = ({ issuerUrl, clientId, sealedSecret, ...bounds }: OidcSettings): string =>
  hash(
    'sha256',
    JSON.stringify([
      issuerUrl,
      clientId,
      sealedSecret,
      bounds.allowedDomains,
      bounds.allowedGroups,
      bounds.groupsClaim,
      bounds.emailVerification,
    ]),
    'base64url',
  )
