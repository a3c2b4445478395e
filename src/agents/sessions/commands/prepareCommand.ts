import { portVariables } from '../../../cardWork/cardPorts.ts'
import type { AgentLaunch } from '../../link/agentLink.ts'
import { prepareLaunch } from '../../providers/prepareLaunch.ts'
import { openProjectSandbox, type ProjectPlace, type SandboxDependencies } from '../sandbox/projectSandbox.ts'
import type { RunSandbox } from '../sandbox/runSandbox.ts'
import { workplaceVariables } from './workplaceVariables.ts'

/** The folder where a command runs without a session, and its owner. */
export interface CommandSite extends ProjectPlace {
  cardId: number
  ports: readonly number[]
  /** Whether users can reach the ports of a command that has its own network. */
  isServed: boolean
}

/**
 * Prepares a project command that runs without a session, in the same sandbox as the project's agents.
 * @throws AgentFailure launch_failed
 */
export async function prepareCommand(
  dependencies: SandboxDependencies,
  site: CommandSite,
): Promise<{ launch: AgentLaunch; sandbox: RunSandbox }> {
  const { project, place, ports, isServed } = site
  const variables = { ...portVariables(ports), ...(await workplaceVariables(project, place)) }
  const launch = await buildCommandLaunch(dependencies, site, variables)
  const access = { isReadOnly: false }
  const network = isServed ? { served: ports } : {}
  const sandbox = await openProjectSandbox(dependencies, site, launch, access, network)
  return { launch: sandbox.inside(launch), sandbox }
}

/** The launch of a project's commands. Its environment contains neither the agent's credential nor its token. */
export async function buildCommandLaunch(
  { config, url }: Pick<SandboxDependencies, 'config' | 'url'>,
  { project, place, cardId }: Pick<CommandSite, 'project' | 'place' | 'cardId'>,
  variables: Record<string, string>,
): Promise<AgentLaunch> {
  const launch = await prepareLaunch({
    cwd: place.cwd,
    dataDir: config.dataDir,
    board: { url, token: null, projectId: project.id, cardId },
    mode: 'work',
  })
  return { ...launch, env: { ...launch.env, ...variables } }
}
