import type { Log } from '../../config/log.ts'
import type { ServerConfig } from '../../config/server.ts'
import type { Agents } from '../../domain/sessions.ts'
import type { DeviceGrants } from '../../identity/deviceGrants.ts'
import type { Database } from '../../store/database.ts'
import type { Catalogue } from '../providers/providerCatalogue.ts'

/** What running a session needs of the board. */
export interface SessionParts {
  config: ServerConfig
  db: Database
  agents: Agents
  catalogue: Catalogue
  deviceGrants: Pick<DeviceGrants, 'secretOf'>
  /** Where agents reach this server. */
  url: string
  log: Log
}
