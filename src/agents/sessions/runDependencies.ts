import type { ServerConfig } from '../../config/server.ts'
import type { Agents } from '../../domain/agents/sessions.ts'
import type { GuardedConnect } from '../../egress/guardedConnect.ts'
import type { DeviceGrants } from '../../identity/deviceGrants.ts'
import type { ServerAccess } from '../../process/reconciler.ts'
import type { ProcessTrees } from '../../process/spawn.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { Seal } from '../../identity/seal.ts'
import type { Database } from '../../store/engine/database.ts'
import type { PriceList } from '../pricing/priceList.ts'
import type { Worktrees } from '../../worktrees/worktrees.ts'
import type { Catalogue } from '../providers/providerCatalogue.ts'

/** The parts of the board that a run of a session uses. */
export interface RunDependencies extends ServerAccess {
  config: ServerConfig
  db: Database
  processTrees: ProcessTrees
  agents: Agents
  catalogue: Catalogue
  sandbox: Sandbox
  worktrees: Worktrees
  deviceGrants: Pick<DeviceGrants, 'secretOf'>
  seal: Seal
  prices: PriceList
  /** Opens a connection for an agent whose network access is limited to listed hosts. */
  connect: GuardedConnect
}
