import { isLocalOnly } from '../../../config/server.ts'
import { isSideSession } from '../../../store/agents/sessionPurposes.ts'
import { openState } from '../../providers/agentHomes.ts'
import { listModelHosts } from '../../providers/modelHosts.ts'
import { openProjectSandbox } from '../sandbox/projectSandbox.ts'
import type { WithLaunch } from './sessionContext.ts'

/** Opens the sandbox of a session's agent and of the project's commands around it. @throws AgentFailure launch_failed */
export async function openSandbox(context: WithLaunch) {
  const { dependencies, session, project, agent, workplace, credential, launch, onAsked } = context
  const { config } = dependencies
  const canBePrivate = !credential || isLocalOnly(config) || config.allowPrivateWebhooks
  const access = agent && {
    openState: () => openState(agent.provider, credential, launch),
    sandboxOverride: agent.provider.sandboxOverride,
    models: listModelHosts(agent.provider, credential?.provider ?? null, launch.env, canBePrivate),
  }
  const isReadOnly = isSideSession(session.purpose)
  const site = { project, place: workplace.place }
  return { sandbox: await openProjectSandbox(dependencies, site, launch, { ...access, isReadOnly }, { onAsked }) }
}
