import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { isWithin } from '../config/folders.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { readCheckoutState } from '../git/checkoutState.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Reader } from '../store/engine/database.ts'
import type { ProjectRow } from '../store/projects/projects.ts'
import { invalidField } from '../domain/automation/monitorFields.ts'
import { otherWorktrees } from '../cardWork/repositoryWorktrees.ts'

type Card = Pick<CardRow, 'worktreePath'>
type Project = ProjectFolder

/** The folder of a card's work: its worktree if that exists, else the project's folder. */
export async function workingFolder({ worktreePath }: Card, project: Project): Promise<string> {
  if (worktreePath === null) return project.path
  const folder = join(worktreePath, (await readCheckoutState(project))?.subfolder ?? '')
  return (await isFolder(folder)) ? folder : project.path
}

/**
 * Checks the folder of a card's command and resolves its links: it must be inside the project's folder or a worktree of the card.
 * Check it again before each run, because it can change.
 * @throws Problem MONITOR_CWD_INVALID, MONITOR_CWD_OUTSIDE_CARD
 */
export async function requireCardFolder(
  db: Reader,
  cwd: string,
  { id, worktreePath }: Card & Pick<CardRow, 'id'>,
  project: Project & Pick<ProjectRow, 'repositories'>,
): Promise<string> {
  const real = isAbsolute(cwd) ? await realpath(cwd).catch(() => undefined) : undefined
  if (real === undefined || !(await isFolder(real))) throw invalidField('MONITOR_CWD_INVALID', 'cwd')
  const roots = await Promise.all([
    realpath(project.path).catch(() => undefined),
    ...(worktreePath === null ? [] : [placeOf(worktreePath)]),
    ...(await otherWorktrees(db, id, project)).map(placeOf),
  ])
  if (!roots.some(root => root !== undefined && isWithin(root, real)))
    throw invalidField('MONITOR_CWD_OUTSIDE_CARD', 'cwd')
  return real
}

/** An agent can replace its worktree with a link to anywhere, so only the parent folder's links are resolved. */
const placeOf = (worktreePath: string): Promise<string | undefined> =>
  realpath(dirname(worktreePath)).then(
    parent => join(parent, basename(worktreePath)),
    () => undefined,
  )

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
