import type { ServerConfig } from '../config/server.ts'
import type { ForgeSettings } from '../contract/forge.ts'
import type { Agents } from '../domain/sessions.ts'
import type { Forge, ForgeAddress } from '../forge/forge.ts'
import type { Actor, Database } from '../store/database.ts'
import type { ProjectRow } from '../store/projects.ts'

/** What the work on issues needs of the board. */
export interface IssueDependencies {
  db: Database
  config: ServerConfig
  agents: Agents
  /** The forge of a project's home. @throws Problem */
  openForge(project: ProjectRow): Promise<OpenForge>
}
interface OpenForge {
  forge: Forge
  /** Undefined where a command answers. */
  address?: ForgeAddress
}

/** A project that is tied to the issues of a forge, for one visit. */
export interface IssueSync {
  projectId: number
  forge: Forge
  /** The repository, as rows name it. */
  key: string
  /** What people call the forge. */
  name: string
  settings: ForgeSettings & { issueLabel: string }
  /** Who changes cards for what happened there. */
  actor: Actor
  /** What was done so far. */
  tally: Tally
}

/** What came of a visit. */
export interface Tally {
  /** Issues that became cards. */
  imported: number
  /** Cards that follow what happened to their issues. */
  updated: number
  closed: number
  reopened: number
  /** Comments that were added, changed or deleted on cards and on issues. */
  received: number
  sent: number
  /** Issues with which something failed; they say what. */
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
