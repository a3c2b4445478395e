import type { ServerConfig } from '../config/server.ts'
import type { Agents } from '../domain/sessions.ts'
import type { DeviceGrants } from '../identity/deviceGrants.ts'
import type { Database } from '../store/database.ts'
import type { Catalogue } from './catalogue.ts'

export type Log = (level: 'error' | 'warn' | 'info', message: string, fields?: Record<string, unknown>) => void

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
