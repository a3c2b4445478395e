import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { isWithin } from '../config/folders.ts'
import { standingOf } from '../git/cardWorktrees.ts'
import type { CardRow } from '../store/cards.ts'
import type { ProjectRow } from '../store/projects.ts'
import { wrong } from './monitorFields.ts'

type Card = Pick<CardRow, 'worktreePath'>
type Project = Pick<ProjectRow, 'path'>

/** Where a card's work is: in its worktree if that is there, else in the project's folder. */
export async function workingFolder({ worktreePath }: Card, project: Project): Promise<string> {
  if (worktreePath === null) return project.path
  const folder = join(worktreePath, (await standingOf(project.path))?.subfolder ?? '')
  return (await isFolder(folder)) ? folder : project.path
}

/**
 * Checks a folder in which a command of a card is to run, and returns it without links: inside the project's folder, or the
 * card's worktree, managed or attached. What holds now need not hold later: check it before each run.
 * @throws Problem MONITOR_CWD_INVALID, MONITOR_CWD_OUTSIDE_CARD
 */
export async function requireCardFolder(cwd: string, { worktreePath }: Card, project: Project): Promise<string> {
  const real = isAbsolute(cwd) ? await realpath(cwd).catch(() => undefined) : undefined
  if (real === undefined || !(await isFolder(real))) throw wrong('MONITOR_CWD_INVALID', 'cwd')
  const roots = await Promise.all([
    realpath(project.path).catch(() => undefined),
    ...(worktreePath === null ? [] : [placeOf(worktreePath)]),
  ])
  if (!roots.some(root => root !== undefined && isWithin(root, real))) throw wrong('MONITOR_CWD_OUTSIDE_CARD', 'cwd')
  return real
}

/** A worktree is what its agent may replace by a link to anywhere: only the way to it is followed. */
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
