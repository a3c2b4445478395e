import { Problem } from '../contract/errors.ts'
import { homeName } from '../contract/forges/repositories.ts'
import type { Contract } from '../contract/index.ts'
import type { Output } from '../contract/route.ts'
import type { Merged, MergeMode } from '../worktrees/merge.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Reader } from '../store/engine/database.ts'
import { mergesOf } from '../store/forges/merges.ts'
import type { ProjectRow } from '../store/projects/projects.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { merge } from './changes.ts'
import {
  inRepository,
  listTouched,
  listWork,
  withResolution,
  workIn,
  type RepositoryWork,
  type WorkTree,
} from './repositoryWork.ts'

/** The merge in one of a project's repositories. `repository` is empty for the home. */
export interface MergedRepository extends Merged {
  repository: string
  branch: string | null
}
export interface MergeOptions {
  into?: string
  squash: boolean
  /** The only repository to merge. Undefined merges all repositories in which the card has changes. */
  repository?: string
  /** The trees that were proved. If a repository has other files by now, its merge fails. Undefined for a merge without proofs. */
  proved?: readonly WorkTree[]
}

/**
 * Merges a card's work in each repository with changes, or in the named one. All merges are tried first: if one repository cannot
 * be merged, none is.
 * @throws Problem as `merge` does, naming the repository; CONFLICT naming the merged repositories if one fails after the trial
 */
export async function mergeRepositories(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectRow,
  { repository, ...options }: MergeOptions,
): Promise<MergedRepository[]> {
  const works = await worksToMerge(worktrees, db, card, project, repository)
  if (works.length > 1) for (const work of works) await mergeIn(worktrees, work, { ...options, mode: 'try' })
  const merged: MergedRepository[] = []
  for (const work of works)
    merged.push(
      await mergeIn(worktrees, work, options).catch((error: unknown) => {
        throw merged.length === 0 ? error : halfDone(merged, error)
      }),
    )
  return merged
}

type CheckedRepository = Output<Contract['branches']['checkMerge']>[number]

/**
 * Tries the merges of `mergeRepositories`, and changes nothing. Conflicts, uncommitted files and a running agent are results, not errors.
 * @throws Problem NOT_A_GIT_REPOSITORY, CONFLICT, VALIDATION_FAILED as `mergeRepositories` does
 */
export async function checkMerge(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectRow,
  { repository, into }: Pick<MergeOptions, 'repository' | 'into'>,
): Promise<CheckedRepository[]> {
  const checked: CheckedRepository[] = []
  for (const work of await worksToMerge(worktrees, db, card, project, repository))
    checked.push(
      await mergeIn(worktrees, work, { into, squash: false, mode: 'try' }).then(
        merged => ({ repository: merged.repository, into: merged.into, hasWork: merged.merged, problem: null }),
        (error: unknown) => ({
          repository: work.repository,
          into: into ?? null,
          hasWork: true,
          problem: removableProblem(error),
        }),
      ),
    )
  return checked
}

/**
 * Returns the problem of a trial if it is a state of the card's work that can change.
 * @throws the error otherwise
 */
function removableProblem(error: unknown): NonNullable<CheckedRepository['problem']> {
  if (error instanceof Problem) {
    const { code, message, details = [] } = error
    if (code === 'MERGE_CONFLICT' || code === 'WORKTREE_DIRTY' || code === 'AGENT_ALREADY_RUNNING')
      return { code, message, details: [...details] }
  }
  throw error
}

/** A single repository is not checked in advance, because the merge itself reports its state. */
async function worksToMerge(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectRow,
  repository: string | undefined,
): Promise<RepositoryWork[]> {
  if (repository !== undefined) return [await workIn(db, card, project, repository)]
  const works = await listWork(db, card, project)
  if (works.length === 1) return works
  const touched = await listTouched(worktrees, db, card, project)
  return touched.length === 0 ? works.slice(0, 1) : touched
}

async function mergeIn(
  worktrees: Worktrees,
  { repository, card, project }: RepositoryWork,
  options: Omit<MergeOptions, 'repository'> & { mode?: MergeMode },
): Promise<MergedRepository> {
  const earlier = mergesOf(card).find(each => each.repository === repository)
  const { proved, ...others } = options
  const tree = proved?.find(each => each.repository === repository)?.tree
  const merged = await merge(worktrees, card, project, { ...others, tree, earlier }).catch((error: unknown) => {
    throw inRepository(repository, withResolution(error, card.id, repository))
  })
  return { repository, branch: card.gitBranch, ...merged }
}

/** Whether all work of a card is merged, apart from the work in the named repositories. */
export async function isOtherwiseMerged(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectRow,
  names: readonly string[],
): Promise<boolean> {
  for (const work of await listTouched(worktrees, db, card, project)) {
    if (names.includes(work.repository)) continue
    const earlier = mergesOf(card).find(each => each.repository === work.repository)
    if (earlier === undefined) return false
    const trial = { into: earlier.into, squash: false, mode: 'try' as const }
    const isLeft = await mergeIn(worktrees, work, trial).then(
      ({ merged }) => merged,
      () => true,
    )
    if (isLeft) return false
  }
  return true
}

/**
 * Returns the error of a merge that failed after other repositories were merged, because a branch moved after the trial. Finished merges
 * stay, and a second attempt merges the rest.
 */
function halfDone(merged: readonly MergedRepository[], error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  const names = merged.map(({ repository }) => repository || homeName).join(', ')
  return new Problem(
    'CONFLICT',
    `The card is merged in ${names}, but not in the others. ${error.message} Then merge once more.`,
    {
      cause: error,
    },
  )
}
