import type { Log } from '../../config/log.ts'
import type { ServerConfig } from '../../config/server.ts'
import type { Agents } from '../../domain/sessions.ts'
import type { DeviceGrants } from '../../identity/deviceGrants.ts'
import type { Database } from '../../store/database.ts'
import type { Catalogue } from '../providers/providerCatalogue.ts'

/** The parts of the board that a run of a session uses. */
export interface RunDependencies {
  config: ServerConfig
  db: Database
  agents: Agents
  catalogue: Catalogue
  deviceGrants: Pick<DeviceGrants, 'secretOf'>
  /** The address at which agents reach this server. */
  url: string
  log: Log
}
