import type { ServerConfig } from '../../../config/server.ts'
import type { Workplace } from '../../../cardWork/worktrees.ts'
import { sandboxOf, type ProjectRow } from '../../../store/projects/projects.ts'
import { openGitView, type GitPlace } from '../../../worktrees/gitView.ts'
import { foreignRoots } from '../../../worktrees/worktreePlaces.ts'
import type { Worktrees } from '../../../worktrees/worktrees.ts'
import { AgentFailure, type AgentLaunch } from '../../link/agentLink.ts'
import { refusalAsLaunchFailure } from '../../link/exitFailures.ts'
import type { RunDependencies } from '../runDependencies.ts'
import { openRunSandbox, type NetworkDependencies, type RunSandbox } from './runSandbox.ts'
import type { AgentAccess } from './sessionPolicy.ts'

/** The dependencies of a sandbox in a project. */
export type SandboxDependencies = Pick<
  RunDependencies,
  'sandbox' | 'worktrees' | 'connect' | 'acceptForBoard' | 'url'
> & {
  config: Pick<ServerConfig, 'dataDir' | 'worktreeRoot' | 'earlierWorktreeRoots'>
}
/** A folder of a project where agents or commands work. */
export interface ProjectPlace {
  project: Pick<ProjectRow, 'id' | 'path' | 'folderRecords' | 'sandbox'>
  place: Workplace
}

/**
 * Opens the sandbox that a project's settings require for a folder. Returns `noSandbox` if there is none.
 * @throws AgentFailure launch_failed
 */
export function openProjectSandbox(
  { sandbox, worktrees, config, connect, acceptForBoard, url }: SandboxDependencies,
  { project, place }: ProjectPlace,
  launch: AgentLaunch,
  access: AgentAccess,
  network: Pick<NetworkDependencies, 'onAsked' | 'served'>,
): Promise<RunSandbox> {
  const { worktreePath, branch, repositories = [] } = place
  return openRunSandbox(
    sandbox,
    sandboxOf(project),
    launch,
    {
      ...access,
      dataDir: config.dataDir,
      worktreeRoots: foreignRoots(config),
      projectPath: project.path,
      worktreePath,
      openGit: () => openGitAt(worktrees, { project, worktreePath, branch }),
      otherRepositories: repositories.map(other => ({
        path: other.path,
        worktree:
          other.worktreePath === null
            ? null
            : {
                path: other.worktreePath,
                openGit: () => openGitAt(worktrees, { ...other, project: { ...project, path: other.path } }),
              },
      })),
    },
    {
      ...network,
      connect,
      acceptForBoard,
      boardUrl: url,
      howToAllow: entry => `To allow it: board projects sandbox ${project.id} --allow ${entry}`,
    },
  )
}

const openGitAt = (worktrees: Worktrees, place: GitPlace) =>
  openGitView(worktrees, place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw refusalAsLaunchFailure(error)
    throw new AgentFailure('launch_failed', 'The folder to work in does not exist.', error)
  })
