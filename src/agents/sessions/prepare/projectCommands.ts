import type { ProjectFolder } from '../../../git/folderRecord.ts'
import { foreignRoots } from '../../../worktrees/worktreePlaces.ts'
import type { ServerConfig } from '../../../config/server.ts'
import { Problem } from '../../../contract/errors.ts'
import { portVariables } from '../../../domain/cards/cardPorts.ts'
import type { Workplace } from '../../../domain/worktrees/worktrees.ts'
import { openGitView, type GitPlace } from '../../../worktrees/gitView.ts'
import type { AskedHost } from '../../../sandbox/network/askedHosts.ts'
import { sandboxOf, type ProjectRow } from '../../../store/projects/projects.ts'
import { AgentFailure, type AgentLaunch } from '../../link/agentLink.ts'
import { prepareLaunch, type LaunchRequest } from '../../providers/prepareLaunch.ts'
import type { RunDependencies } from '../runDependencies.ts'
import { workplaceVariables } from './workplaceVariables.ts'
import { openRunSandbox, type NetworkParts, type RunSandbox } from '../sandbox/runSandbox.ts'
import type { Worktrees } from '../../../worktrees/worktrees.ts'

/** The dependencies of a project command, in addition to its place. */
export type CommandDependencies = Pick<
  RunDependencies,
  'sandbox' | 'worktrees' | 'connect' | 'acceptForBoard' | 'url'
> & {
  config: Pick<ServerConfig, 'dataDir' | 'worktreeRoot' | 'earlierWorktreeRoots'>
}
/** The folder where a command runs, and its owner. */
export interface CommandSite {
  project: Pick<ProjectRow, 'id' | 'path' | 'folderRecords' | 'sandbox'>
  cardId: number
  place: Workplace
  ports: readonly number[]
  /** Whether users can reach the ports of a command that has its own network. */
  isServed: boolean
}
export interface SandboxedCommand {
  launch: AgentLaunch
  sandbox: RunSandbox
}

/**
 * Prepares a project command that runs without a session, in the same sandbox as the project's agents.
 * @throws AgentFailure launch_failed
 */
export async function prepareCommand(
  dependencies: CommandDependencies,
  { project, cardId, place, ports, isServed }: CommandSite,
): Promise<SandboxedCommand> {
  const { config, url } = dependencies
  const launch = await commandLaunch(
    {
      cwd: place.cwd,
      dataDir: config.dataDir,
      board: { url, token: null, projectId: project.id, cardId },
      author: null,
    },
    { ...portVariables(ports), ...(await workplaceVariables(project, place)) },
  )
  const sandbox = await openRunSandbox(
    dependencies.sandbox,
    sandboxOf(project),
    launch,
    {
      ...foldersOf(dependencies, project, place),
      openState: async () => [],
      sandboxOverride: undefined,
      isReadOnly: false,
      models: { hosts: [], endpoints: [] },
    },
    { ...networkParts(dependencies, project.id), ...(isServed && { served: ports }) },
  )
  return { launch: sandbox.inside(launch), sandbox }
}

/** The environment of a project's commands. It contains neither the agent's credential nor its token. */
export async function commandLaunch(
  common: Pick<LaunchRequest, 'cwd' | 'dataDir' | 'author'> & { board: NonNullable<LaunchRequest['board']> },
  variables: Record<string, string>,
): Promise<AgentLaunch> {
  const prepared = await prepareLaunch({
    ...common,
    board: { ...common.board, token: null },
    provider: null,
    profile: null,
    choice: { model: null, mode: null, effort: null },
    credential: null,
    mode: 'work',
  })
  return { ...prepared, env: { ...prepared.env, ...variables } }
}

/** The folders that a sandbox mounts. */
export const foldersOf = (
  { config, worktrees }: Pick<CommandDependencies, 'config' | 'worktrees'>,
  project: ProjectFolder,
  place: Workplace,
) => ({
  dataDir: config.dataDir,
  worktreeRoots: foreignRoots(config),
  projectPath: project.path,
  worktreePath: place.worktreePath,
  openGit: () => openGitAt(worktrees, { project, worktreePath: place.worktreePath, branch: place.branch }),
  beside: (place.repositories ?? []).map(({ path, worktreePath, branch }) => ({
    path,
    worktree:
      worktreePath === null
        ? null
        : {
            path: worktreePath,
            openGit: () => openGitAt(worktrees, { project: { ...project, path }, worktreePath, branch }),
          },
  })),
})

/** Opens the agent's view of Git. @throws AgentFailure launch_failed */
const openGitAt = (worktrees: Worktrees, place: GitPlace) =>
  openGitView(worktrees, place).catch(error => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new AgentFailure('launch_failed', 'The folder to work in does not exist.', error)
    throw refusalAsLaunchFailure(error)
  })

/** The functions of this server that a restricted network calls. */
export const networkParts = (
  { connect, acceptForBoard, url }: Pick<RunDependencies, 'connect' | 'acceptForBoard' | 'url'>,
  projectId: number,
  onAsked?: (asked: AskedHost) => void,
): NetworkParts => ({
  connect,
  acceptForBoard,
  boardUrl: url,
  howToAllow: entry => `To allow it: board projects sandbox ${projectId} --allow ${entry}`,
  onAsked,
})

/** A refusal that a user can fix fails the launch with its own message. */
export const refusalAsLaunchFailure = (error: unknown): unknown =>
  error instanceof Problem && error.status < 500 ? new AgentFailure('launch_failed', error.message, error) : error
