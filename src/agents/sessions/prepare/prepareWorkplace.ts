import type { ServerConfig } from '../../../config/server.ts'
import type { EffectiveWorktree } from '../../../contract/projects/worktree.ts'
import { portsOf, portVariables } from '../../../domain/cards/cardPorts.ts'
import { ensureRepositories } from '../../../domain/worktrees/repositoryWorktrees.ts'
import { ensureWorktree, requireSubfolder, type Workplace } from '../../../domain/worktrees/worktrees.ts'
import { findWorktreeSettings, whyUnused } from '../../../domain/worktrees/worktreeSettings.ts'
import { setUpMark } from '../../../worktrees/cardWorktrees.ts'
import { createLocalRemote } from '../../../worktrees/localRemote.ts'
import type { RemoteReach } from '../../../git/remoteGit.ts'
import { gitCredentialOf } from '../../../forge/forgeAccess.ts'
import type { Database } from '../../../store/engine/database.ts'
import type { CardRow } from '../../../store/cards/cards.ts'
import type { ProjectRow } from '../../../store/projects/projects.ts'
import { updateSession, type SessionRow } from '../../../store/agents/sessions.ts'
import type { LaunchRequest } from '../../providers/prepareLaunch.ts'
import { describeEmptySubmodules } from './emptySubmodules.ts'
import { refusalAsLaunchFailure, commandLaunch } from './projectCommands.ts'
import { workplaceVariables } from './workplaceVariables.ts'
import type { SessionCommands } from '../runCommands.ts'
import type { RunDependencies } from '../runDependencies.ts'
import type { RunSandbox } from '../sandbox/runSandbox.ts'
import type { Worktrees } from '../../../worktrees/worktrees.ts'

/** The folder where a session works, with the project's preparation of it. */
export interface PreparedWorkplace {
  place: Workplace
  settings: EffectiveWorktree
  /** The variables for the card's ports and the locations of the project's other repositories. */
  variables: Record<string, string>
  /** The marker file for a completed setup. Null if the folder belongs to a user. */
  setUpMark: string | null
  /** The remark in the transcript about the folder. */
  remark: string | null
}

const withoutWorktree =
  "The project is not in a Git repository, so the agent works in the project's folder, without a worktree."

/**
 * Prepares the folder of a session and stores it with the session.
 * @throws AgentFailure launch_failed, Problem of the store
 */
export async function prepareWorkplace(
  { db, config, worktrees, processTrees, deviceGrants }: RunDependencies,
  session: SessionRow,
  card: CardRow,
  project: ProjectRow,
): Promise<PreparedWorkplace> {
  const { effective, boardFile } = await findWorktreeSettings(worktrees, db, project).catch(error => {
    throw refusalAsLaunchFailure(error)
  })
  const copied = { ...project, copiedFiles: JSON.stringify(effective.copiedFiles) }
  // Without a credential, the remote refuses access, and the transcript gets a remark.
  const credential = await gitCredentialOf({ db, deviceGrants }, project).catch(() => undefined)
  const reach = { processTrees, timeoutMs: config.fetchTimeoutMs, credential, local: createLocalRemote(worktrees) }
  const { place, remarks: told } = await ensurePlaces(
    worktrees,
    db,
    card,
    copied,
    effective.subfolder,
    config,
    reach,
  ).catch(error => {
    throw refusalAsLaunchFailure(error)
  })
  const { cwd, worktreePath, branch, baseCommit } = place
  await db.transaction(tx => updateSession(tx, session.id, { cwd, branch, baseCommit }))
  const lacksWorktree = session.purpose === 'work' && card.useWorktree === 1 && worktreePath === null
  const remarks = [lacksWorktree && withoutWorktree, place.remark, ...told, whyUnused(project.id, boardFile)].filter(
    Boolean,
  )
  return {
    place,
    settings: effective,
    variables: {
      ...portVariables(await portsOf(db, config.dataDir, card.id, effective.ports)),
      ...(await workplaceVariables(project, place)),
    },
    setUpMark: place.isManaged && worktreePath !== null ? setUpMark(worktreePath) : null,
    remark: remarks.join('\n') || null,
  }
}

/** The card's worktree, and those of the project's other repositories. */
async function ensurePlaces(
  worktrees: Worktrees,
  db: Database,
  card: CardRow,
  project: ProjectRow,
  subfolder: string,
  config: ServerConfig,
  reach: RemoteReach,
): Promise<{ place: Workplace; remarks: string[] }> {
  const own = await ensureWorktree(worktrees, db, card, project, config, reach)
  const { repositories, remarks } = await ensureRepositories(worktrees, db, card, project, own, config, reach)
  return { place: { ...own, cwd: await requireSubfolder(own.cwd, subfolder), repositories }, remarks }
}

/** A project's commands around a session: they get neither the agent's credential nor its token. */
export async function prepareCommands(
  { worktrees }: Pick<RunDependencies, 'worktrees'>,
  project: ProjectRow,
  common: Pick<LaunchRequest, 'cwd' | 'dataDir' | 'author'> & { board: NonNullable<LaunchRequest['board']> },
  { place, settings, variables, setUpMark: mark }: PreparedWorkplace,
  sandbox: RunSandbox,
): Promise<SessionCommands> {
  const launch = await commandLaunch(common, variables)
  return {
    launch: sandbox.inside(launch),
    settings,
    setUpMark: mark,
    describeEmptySubmodules: () => describeEmptySubmodules(worktrees, project, place),
  }
}
