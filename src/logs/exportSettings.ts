import type { InferOutput } from 'valibot'
import { invalid } from '../contract/errors.ts'
import type { LogExport } from '../contract/server/logs.ts'
import type { Seal } from '../identity/seal.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { readServerSetting, writeServerSetting } from '../store/server/serverSettings.ts'
import type { Target } from './exporter.ts'

type Settings = InferOutput<typeof LogExport>

const group = 'logExport'
/** Replaces a header's value when settings are read, and keeps the value when they are changed. */
const mask = '********'
const defaults: Settings = {
  enabled: false,
  endpoint: null,
  protocol: 'otlp-http',
  headers: {},
  minLevel: 'info',
  compression: 'none',
}
/** Headers that the request itself sets. */
const own = /^(content-(type|length|encoding)|transfer-encoding|connection|host|expect|upgrade|keep-alive|te|trailer)$/i

/** The log export settings. The values of headers are encrypted, each for its name and the endpoint's origin. */
export const readLogExport = async (db: Reader): Promise<Settings> => ({
  ...defaults,
  ...(JSON.parse((await readServerSetting(db, group)) ?? '{}') as Partial<Settings>),
})

/** The settings with masked values. */
export const maskSettings = (settings: Settings): Settings => ({
  ...settings,
  headers: Object.fromEntries(Object.keys(settings.headers).map(name => [name, mask])),
})

/**
 * Changes some of the settings. A header whose value is the mask keeps its value while the endpoint stays on its origin.
 * @throws Problem VALIDATION_FAILED
 */
export async function changeLogExport(seal: Seal, tx: Transaction, change: Partial<Settings>): Promise<Settings> {
  const before = await readLogExport(tx)
  const given = Object.fromEntries(
    Object.entries(change).filter(([, value]) => value !== undefined),
  ) as Partial<Settings>
  const settings = { ...before, ...given }
  requireEndpoint(settings)
  const names = Object.keys(settings.headers)
  for (const name of names) {
    if (own.test(name)) throw invalid(`headers.${name}`, 'is set by the server')
    if (names.some(other => other !== name && other.toLowerCase() === name.toLowerCase()))
      throw invalid(`headers.${name}`, 'must be specified only once')
  }
  settings.headers = Object.fromEntries(
    names.map(name => [name, sealHeader(seal, before, settings, name, given.headers?.[name])]),
  )
  await writeServerSetting(tx, group, JSON.stringify(settings))
  return settings
}

/**
 * The receiver in the settings. Undefined if none is set.
 * @throws Problem SEALED_WITH_OTHER_KEY
 */
export function targetOf(seal: Seal, { endpoint, headers, minLevel, compression }: Settings): Target | undefined {
  if (endpoint === null) return undefined
  return {
    endpoint,
    minLevel,
    compression,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, seal.open(place(endpoint, name), value)]),
    ),
  }
}

function requireEndpoint({ enabled, endpoint, headers }: Settings): void {
  if (endpoint === null) {
    if (enabled) throw invalid('endpoint', 'is required to export the log')
    if (Object.keys(headers).length > 0) throw invalid('endpoint', 'is required for headers')
    return
  }
  const { username, password, search, hash } = new URL(endpoint)
  if (username || password || search || hash)
    throw invalid('endpoint', 'must not have a password, a query or a fragment. Put secrets in headers')
}

/** @param value the header's value; undefined if no headers were given */
function sealHeader(
  seal: Seal,
  before: Settings,
  { endpoint }: Settings,
  name: string,
  value: string | undefined,
): string {
  if (value !== undefined && value !== mask) return seal.seal(place(endpoint!, name), value)
  const kept = Object.hasOwn(before.headers, name) ? before.headers[name] : undefined
  if (kept === undefined) throw invalid(`headers.${name}`, 'has no stored value')
  if (originOf(before.endpoint!) !== originOf(endpoint!))
    throw invalid(`headers.${name}`, 'must be specified again, because the endpoint has another origin')
  return kept
}

const originOf = (endpoint: string) => new URL(endpoint).origin
const place = (endpoint: string, name: string) =>
  `logExport/${JSON.stringify([originOf(endpoint), name.toLowerCase()])}`
