import { buildCommandLaunch } from '../commands/prepareCommand.ts'
import type { SessionCommands } from '../commands/runCommands.ts'
import { describeEmptySubmodules } from './emptySubmodules.ts'
import type { WithSandbox } from './sessionContext.ts'

/** Prepares the project's commands around a session. */
export async function prepareCommands(context: WithSandbox): Promise<{ commands: SessionCommands | null }> {
  const { dependencies, session, project, workplace, sandbox } = context
  const { place, settings, variables, setUpMark } = workplace
  if (session.purpose !== 'work' && session.purpose !== 'terminal') return { commands: null }
  const launch = await buildCommandLaunch(dependencies, { project, place, cardId: session.cardId }, variables)
  return {
    commands: {
      launch: sandbox.inside(launch),
      settings,
      setUpMark,
      describeEmptySubmodules: () => describeEmptySubmodules(dependencies.worktrees, project, place),
    },
  }
}
