import type { EffectiveWorktree } from '../../contract/worktree.ts'
import { portsOf, portVariables } from '../../domain/cardPorts.ts'
import { ensureWorktree, requireSubfolder, type Workplace } from '../../domain/worktrees.ts'
import { findWorktreeSettings, whyUnused } from '../../domain/worktreeSettings.ts'
import { setUpMark } from '../../git/cardWorktrees.ts'
import type { CardRow } from '../../store/cards.ts'
import type { ProjectRow } from '../../store/projects.ts'
import { updateSession, type SessionRow } from '../../store/sessions.ts'
import type { LaunchRequest } from '../providers/prepareLaunch.ts'
import { refusalAsLaunchFailure, commandLaunch } from './projectCommands.ts'
import type { SessionCommands } from './runCommands.ts'
import type { RunDependencies } from './runDependencies.ts'
import type { Walls } from './walls.ts'

/** Where a session works, and what its project prepares there. */
export interface PreparedWorkplace {
  place: Workplace
  settings: EffectiveWorktree
  /** The variables that name the card's ports. */
  ports: Record<string, string>
  /** The file that says that setup has run; null where the folder is a person's own. */
  setUpMark: string | null
  /** What the transcript says about the folder. */
  remark: string | null
}

const withoutWorktree =
  "The project is in no Git repository, so the agent works in the project's folder itself, without a worktree."

/**
 * Prepares the folder of a session and stores it with the session.
 * @throws AgentFailure launch_failed, Problem of the store
 */
export async function prepareWorkplace(
  { db, config, processTrees }: RunDependencies,
  session: SessionRow,
  card: CardRow,
  project: ProjectRow,
): Promise<PreparedWorkplace> {
  const { effective, boardFile } = await findWorktreeSettings(db, project)
  const copied = { ...project, copiedFiles: JSON.stringify(effective.copiedFiles) }
  const reach = { processTrees, timeoutMs: config.fetchTimeoutMs }
  const place = await ensureWorktree(db, card, copied, config, reach)
    .then(async found => ({ ...found, cwd: await requireSubfolder(found.cwd, effective.subfolder) }))
    .catch(error => {
      throw refusalAsLaunchFailure(error)
    })
  const { cwd, worktreePath, branch, baseCommit } = place
  await db.transaction(tx => updateSession(tx, session.id, { cwd, branch, baseCommit }))
  const lacksWorktree = session.purpose === 'work' && card.useWorktree === 1 && worktreePath === null
  const remarks = [lacksWorktree && withoutWorktree, place.remark, whyUnused(project.id, boardFile)].filter(Boolean)
  const isManaged = worktreePath !== null && (card.worktreePath === null || card.worktreeManaged === 1)
  return {
    place,
    settings: effective,
    ports: portVariables(await portsOf(db, config.dataDir, card.id, effective.ports)),
    setUpMark: isManaged ? setUpMark(worktreePath) : null,
    remark: remarks.join('\n') || null,
  }
}

/** A project's commands around a session: they get neither the agent's credential nor its token. */
export async function prepareCommands(
  common: Pick<LaunchRequest, 'cwd' | 'dataDir' | 'author'> & { board: NonNullable<LaunchRequest['board']> },
  { settings, ports, setUpMark: mark }: PreparedWorkplace,
  walls: Walls | null,
): Promise<SessionCommands> {
  const launch = await commandLaunch(common, ports)
  return { launch: walls?.inside(launch) ?? launch, settings, setUpMark: mark }
}
