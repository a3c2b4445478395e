import { prepareLaunch } from '../../providers/prepareLaunch.ts'
import { createPromptFiles } from '../prompts/promptFiles.ts'
import type { WithCredential } from './sessionContext.ts'

/** Prepares the agent's folders, environment and command, and the folder for the files of its prompts. */
export async function buildLaunch(context: WithCredential) {
  const { dependencies, session, project, agent, workplace, credential, token } = context
  const { config, url } = dependencies
  const launch = await prepareLaunch({
    ...agent,
    credential,
    cwd: workplace.place.cwd,
    dataDir: config.dataDir,
    board: { url, token, projectId: project.id, cardId: session.cardId },
    mode: session.purpose === 'pre' ? 'plan' : 'work',
  })
  const promptFiles = await createPromptFiles(dependencies, project.id, launch.env.TMPDIR!)
  const env = { ...launch.env, ...workplace.variables }
  return { launch: { ...launch, env, filesFolder: promptFiles.folder }, promptFiles }
}
