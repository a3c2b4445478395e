import { Problem } from '../contract/errors.ts'
import { createForge } from './createForge.ts'
import { createCommandForge } from './commandForge.ts'
import { ForgeFailed, type Forge, type ForgeAddress } from './forge.ts'
import type { ProcessTrees } from '../process/spawn.ts'
import { forgeOf, type ProjectRow } from '../store/projects/projects.ts'
import type { ForgeOptions } from './forgeHttp.ts'
import { findForgeRemote, findProjectForge, type ForgeDependencies, type ProjectForge } from './forgeAccess.ts'

export interface OpenForgeDependencies extends ForgeDependencies {
  /** Connects according to the user's egress policy. */
  outboundDispatcher(userId: number): Promise<ForgeOptions['dispatcher']>
  /** Starts the command of a project with an unsupported forge. */
  remoteReach: { processTrees: ProcessTrees }
}
export interface OpenForge extends Pick<ProjectForge, 'settings' | 'remote'> {
  forge: Forge
  /** Undefined for a forge command. */
  address?: ForgeAddress
}

/**
 * A project's forge, ready for requests, which have the network access of its credential's owner.
 * @param path the folder of a repository of the project
 * @throws Problem FORGE_NOT_CONFIGURED, NOT_A_GIT_REPOSITORY, CONFLICT, SEALED_WITH_OTHER_KEY
 */
export async function openForge(
  dependencies: OpenForgeDependencies,
  project: ProjectRow,
  path: string = project.path,
): Promise<OpenForge> {
  const { kind, command } = forgeOf(project)
  if (kind === 'command' && command !== null) {
    const { processTrees } = dependencies.remoteReach
    const forge = createCommandForge({ command, projectId: project.id, path, processTrees })
    return { ...(await findForgeRemote(project, path)), forge }
  }
  const { settings, remote, address, token, userId } = await findProjectForge(dependencies, project, path)
  const dispatcher = await dependencies.outboundDispatcher(userId)
  return { settings, remote, address, forge: createForge(address, token, { dispatcher }) }
}

/** Converts a forge's failure to a route's error. Other errors are unchanged. */
export function asProblem(error: unknown): unknown {
  if (!(error instanceof ForgeFailed)) return error
  const isAway = error.reason === 'unreachable' || error.reason === 'limited'
  const { retryAt } = error
  const retryAfterSecs =
    isAway && retryAt !== undefined ? Math.max(1, Math.ceil((retryAt - Date.now()) / 1000)) : undefined
  return new Problem(isAway ? 'FORGE_UNAVAILABLE' : 'FORGE_REFUSED', error.message, { cause: error, retryAfterSecs })
}
