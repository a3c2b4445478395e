import { isLocalOnly, type ServerConfig } from '../config/server.ts'
import { isLoopbackHost } from '../contract/networkHosts.ts'
import { Problem } from '../contract/errors.ts'
import type { Reader, Transaction } from '../store/engine/database.ts'
import { noteRightsChanged } from '../store/accounts/rights.ts'
import { readServerSetting, writeServerSetting } from '../store/server/serverSettings.ts'
import type { AuthContext } from './identity.ts'

/** Whether signing in is required, and whether registration is open to all. */
export interface AuthSettings {
  enabled: boolean
  registrationEnabled: boolean
}
type Place = Pick<AuthContext, 'config'> & { db: Reader }

const name = 'auth'

/**
 * The stored settings, or the defaults: authentication is on; registration is open while only this machine can reach
 * the server.
 */
export async function readAuthSettings(place: Place): Promise<AuthSettings> {
  const { enabled = true, registrationEnabled = isLocalOnly(place.config) } = await readChosen(place)
  return { enabled, registrationEnabled }
}

/** Whether a user can register. Until an administrator has decided, only the server's own OS account can. */
export async function mayRegister(place: Place, isOwn: boolean): Promise<boolean> {
  const { registrationEnabled = isOwn && isLocalOnly(place.config) } = await readChosen(place)
  return registrationEnabled
}

/**
 * Whether a request without a token acts as the local operator: authentication is off, and only this machine can reach
 * the server.
 */
export const isOpen = async (auth: Place): Promise<boolean> =>
  mayBeOff(auth.config) && !(await readAuthSettings(auth)).enabled

/** @throws Problem CONFLICT for authentication off on a server that others can reach */
export async function changeAuthSettings(
  { config }: AuthContext,
  tx: Transaction,
  { enabled, registrationEnabled }: { enabled: boolean; registrationEnabled?: boolean },
): Promise<AuthSettings> {
  if (!enabled && !mayBeOff(config))
    throw new Problem('CONFLICT', 'Authentication cannot be turned off while other machines can reach the server.')
  const chosen = {
    ...(await readChosen({ config, db: tx })),
    enabled,
    ...(registrationEnabled !== undefined && { registrationEnabled }),
  }
  await writeServerSetting(tx, name, JSON.stringify(chosen))
  await noteRightsChanged(tx)
  return readAuthSettings({ config, db: tx })
}

/** @throws Problem CONFLICT when authentication is off and the server is about to become reachable by others */
export async function requireSafeAuthSettings(auth: Place): Promise<void> {
  if (mayBeOff(auth.config) || (await readAuthSettings(auth)).enabled) return
  throw new Problem(
    'CONFLICT',
    'Authentication is off, so the server must not be reachable from other machines. Start it on 127.0.0.1 and run "board settings auth on" first.',
  )
}

/** With `allowHosts` a proxy forwards here, and every client looks like this machine. */
const mayBeOff = (config: ServerConfig) => isLocalOnly(config) && config.allowHosts.every(isLoopbackHost)

const readChosen = async ({ db }: Place) =>
  JSON.parse((await readServerSetting(db, name)) ?? '{}') as Partial<AuthSettings>
