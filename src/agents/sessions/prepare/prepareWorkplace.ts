import { portsOf, portVariables } from '../../../cardWork/cardPorts.ts'
import { ensureRepositories } from '../../../cardWork/repositoryWorktrees.ts'
import { findWorktreeSettings, whyUnused } from '../../../cardWork/worktreeSettings.ts'
import { ensureWorktree, requireSubfolder, type Workplace } from '../../../cardWork/worktrees.ts'
import { gitCredentialOf } from '../../../forge/forgeAccess.ts'
import { updateSession } from '../../../store/agents/sessions.ts'
import { retryWhileBusy } from '../../../store/engine/retry.ts'
import type { ProjectRow } from '../../../store/projects/projects.ts'
import { setUpMark } from '../../../worktrees/cardWorktrees.ts'
import { createLocalRemote } from '../../../worktrees/localRemote.ts'
import { describeRepositories } from './repositoryInstructions.ts'
import type { WithAgent } from './sessionContext.ts'
import { workplaceVariables } from '../commands/workplaceVariables.ts'

const withoutWorktree =
  "The project is not in a Git repository, so the agent works in the project's folder, without a worktree."

/** Prepares the folder of a session and stores it with the session. @throws Problem of the worktree, Problem of the store */
export const prepareWorkplace = (context: WithAgent) =>
  retryWhileBusy(async () => {
    const { dependencies, session, card, project } = context
    const { db, config, worktrees } = dependencies
    const { effective: settings, boardFile } = await findWorktreeSettings(worktrees, db, project)
    const { place, remarks } = await ensurePlaces(context, settings.subfolder, {
      ...project,
      copiedFiles: JSON.stringify(settings.copiedFiles),
    })
    const { cwd, worktreePath, branch, baseCommit, isManaged } = place
    await db.transaction(tx => updateSession(tx, session.id, { cwd, branch, baseCommit }))
    const lacksWorktree = session.purpose === 'work' && card.useWorktree === 1 && worktreePath === null
    const notes = [lacksWorktree && withoutWorktree, place.remark, ...remarks, whyUnused(project.id, boardFile)]
    const workplace = {
      place,
      settings,
      variables: {
        ...portVariables(await portsOf(db, config.dataDir, card.id, settings.ports)),
        ...(await workplaceVariables(project, place)),
      },
      setUpMark: isManaged && worktreePath !== null ? setUpMark(worktreePath) : null,
      remarks: notes.filter(note => typeof note === 'string'),
      about: describeRepositories(place),
    }
    return { workplace }
  })

/** The card's worktree, and those of the project's other repositories. */
async function ensurePlaces(
  { dependencies, card }: WithAgent,
  subfolder: string,
  project: ProjectRow,
): Promise<{ place: Workplace; remarks: string[] }> {
  const { db, config, worktrees, processTrees } = dependencies
  // Without a credential, the remote refuses access, and the transcript gets a remark.
  const credential = await gitCredentialOf(dependencies, project).catch(() => undefined)
  const reach = { processTrees, timeoutMs: config.fetchTimeoutMs, credential, local: createLocalRemote(worktrees) }
  const own = await ensureWorktree(worktrees, db, card, project, config, reach)
  const { repositories, remarks } = await ensureRepositories(worktrees, db, card, project, own, config, reach)
  return { place: { ...own, cwd: await requireSubfolder(own.cwd, subfolder), repositories }, remarks }
}
