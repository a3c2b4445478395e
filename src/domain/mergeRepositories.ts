import { Problem } from '../contract/errors.ts'
import { homeName } from '../contract/repositories.ts'
import type { Merged } from '../worktrees/merge.ts'
import type { CardRow } from '../store/cards.ts'
import type { Reader } from '../store/database.ts'
import type { ProjectRow } from '../store/projects.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { merge } from './changes.ts'
import { inRepository, listTouched, listWork, workIn, type RepositoryWork } from './repositoryWork.ts'

/** What was merged in one of a project's repositories; empty for the home. */
export interface MergedRepository extends Merged {
  repository: string
  branch: string | null
}
interface Options {
  into?: string
  squash: boolean
  /** The only one in which to merge; undefined: all in which the card has changes. */
  repository?: string
}

/**
 * Merges a card's work in each repository that it has touched, or in the one that is named. All are tried first: where one cannot be
 * merged, none is.
 * @throws Problem as `merge` does, naming the repository; CONFLICT naming what was merged where one fails all the same
 */
export async function mergeRepositories(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectRow,
  { repository, ...options }: Options,
): Promise<MergedRepository[]> {
  const works =
    repository === undefined
      ? await worksToMerge(worktrees, db, card, project)
      : [await workIn(db, card, project, repository)]
  if (works.length > 1) for (const work of works) await mergeIn(worktrees, work, { ...options, isTrial: true })
  const merged: MergedRepository[] = []
  for (const work of works)
    merged.push(
      await mergeIn(worktrees, work, options).catch((error: unknown) => {
        throw merged.length === 0 ? error : halfDone(merged, error)
      }),
    )
  return merged
}

/** The only repository need not be looked at: merging tells what there is. */
async function worksToMerge(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectRow,
): Promise<RepositoryWork[]> {
  const works = await listWork(db, card, project)
  if (works.length === 1) return works
  const touched = await listTouched(worktrees, db, card, project)
  return touched.length === 0 ? works.slice(0, 1) : touched
}

async function mergeIn(
  worktrees: Worktrees,
  { repository, card, project }: RepositoryWork,
  options: Omit<Options, 'repository'> & { isTrial?: boolean },
): Promise<MergedRepository> {
  const merged = await merge(worktrees, card, project, options).catch((error: unknown) => {
    throw inRepository(repository, error)
  })
  return { repository, branch: card.gitBranch, ...merged }
}

/** Something moved between the trial and the merge. What is merged stays: merging once more does the rest. */
function halfDone(merged: readonly MergedRepository[], error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  const names = merged.map(({ repository }) => repository || homeName).join(', ')
  return new Problem(
    'CONFLICT',
    `It is merged in ${names}, and not in the others. ${error.message} Then merge once more.`,
    {
      cause: error,
    },
  )
}
