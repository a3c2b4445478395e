import type { ServerConfig } from '../config/server.ts'
import type { ForgeSettings } from '../contract/forges/forge.ts'
import type { Agents } from '../domain/agents/sessions.ts'
import type { Forge, ForgeAddress } from '../forge/forge.ts'
import type { Actor, Database } from '../store/engine/database.ts'
import type { ProjectRow } from '../store/projects/projects.ts'

/** The dependencies of the work on issues. */
export interface IssueDependencies {
  db: Database
  config: ServerConfig
  agents: Agents
  /** The forge of a project's home. @throws Problem */
  openForge(project: ProjectRow): Promise<OpenForge>
}
interface OpenForge {
  forge: Forge
  /** Undefined for a forge command. */
  address?: ForgeAddress
}

/** A project with a forge's issues, for one synchronization. */
export interface IssueSync {
  projectId: number
  forge: Forge
  /** The repository's name in rows. */
  key: string
  /** The display name of the forge. */
  name: string
  settings: ForgeSettings & { issueLabel: string }
  /** The author of changes of cards that follow their issues. */
  actor: Actor
  /** The results so far. */
  tally: Tally
}

/** The results of a synchronization. */
export interface Tally {
  /** Issues that became cards. */
  imported: number
  /** Cards that were changed because their issues changed. */
  updated: number
  closed: number
  reopened: number
  /** Comments that were added, changed or deleted on cards and on issues. */
  received: number
  sent: number
  /** Issues for which an operation failed. Each issue stores the reason. */
  failed: number
}
export const newTally = (): Tally => ({
  imported: 0,
  updated: 0,
  closed: 0,
  reopened: 0,
  received: 0,
  sent: 0,
  failed: 0,
})
