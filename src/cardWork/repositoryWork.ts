import type { InferOutput } from 'valibot'
import { invalid, Problem } from '../contract/errors.ts'
import { home, homeName, type CardRepository } from '../contract/forges/repositories.ts'
import { findProjectRepository } from '../git/checkoutState.ts'
import { treesOf } from '../git/commits.ts'
import { kindOf } from '../git/kindOf.ts'
import { findRemote } from '../git/remotes.ts'
import type { Comparison, DiffOptions } from '../worktrees/comparison.ts'
import {
  listCardRepositories,
  putCardRepository,
  readCardRepository,
  type CardRepositoryRow,
} from '../store/cards/cardRepositories.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Database, Reader } from '../store/engine/database.ts'
import { forgeOf, repositoriesOf, type ProjectRow } from '../store/projects/projects.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'
import { compareWork } from './changes.ts'
import { saveCardChange } from './worktrees.ts'

/** The fields of a project that are needed to find its repositories. */
export type ProjectPlaces = Pick<
  ProjectRow,
  'id' | 'path' | 'folderRecords' | 'repositories' | 'forge' | 'forgeCredentialId'
>

/**
 * A card and its project for one of the project's repositories. The card has the worktree, branch and base commit in that repository, and
 * the project has its folder. Functions that work on a card's branch accept these two, so that they work in each repository.
 */
export interface RepositoryWork {
  /** The name of the repository. Empty for the home. */
  repository: string
  card: CardRow
  project: ProjectPlaces
}

/** A card's work in one of its project's repositories. @throws Problem VALIDATION_FAILED for an unknown name */
export async function workIn(
  db: Reader,
  card: CardRow,
  project: ProjectPlaces,
  repository: string = home,
): Promise<RepositoryWork> {
  if (repository === home) return { repository, card, project }
  return workOf(card, project, repository, await readCardRepository(db, card.id, repository))
}

/** The folder of one of a project's repositories. @throws Problem VALIDATION_FAILED for an unknown name */
export const folderIn = (project: ProjectPlaces, repository: string): string =>
  repository === home ? project.path : requireRepository(project, repository).path

function requireRepository(project: ProjectPlaces, name: string) {
  const all = repositoriesOf(project)
  const names = [homeName, ...all.map(each => each.name)]
  return (
    all.find(each => each.name === name) ??
    refuse(`must be one of the project's repositories: ${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}`)
  )
}

/** A card's work in all of its project's repositories in which it has a branch, the home first. */
export async function listWork(db: Reader, card: CardRow, project: ProjectPlaces): Promise<RepositoryWork[]> {
  const all = repositoriesOf(project)
  const rows = all.length === 0 ? [] : await listCardRepositories(db, card.id)
  return [
    { repository: home, card, project },
    ...all.flatMap(each => {
      const row = rows.find(({ name }) => name === each.name)
      return row ? [workOf(card, project, each.name, row)] : []
    }),
  ]
}

/**
 * The project with the folder of one of its repositories. The names in the forge's settings refer to the home.
 * @throws Problem VALIDATION_FAILED
 */
export const projectIn = <P extends ProjectPlaces>(project: P, repository: string): P =>
  repository === home
    ? project
    : {
        ...project,
        path: folderIn(project, repository),
        forge: JSON.stringify({ ...forgeOf(project), remote: null, base: null }),
      }

const workOf = (
  card: CardRow,
  project: ProjectPlaces,
  name: string,
  row: CardRepositoryRow | undefined,
): RepositoryWork => ({
  repository: name,
  card: {
    ...card,
    useWorktree: 1,
    worktreeManaged: 1,
    worktreePath: row?.worktreePath ?? null,
    gitBranch: row?.branch ?? null,
    baseCommit: row?.baseCommit ?? null,
  },
  project: projectIn(project, name),
})

/** The repositories in which a card has commits or changes. A repository that no longer exists has none. */
export async function listTouched(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectPlaces,
): Promise<RepositoryWork[]> {
  const touched: RepositoryWork[] = []
  for (const work of await listWork(db, card, project)) if ((await measure(worktrees, work)).touched) touched.push(work)
  return touched
}

/**
 * The number of files that a card has changed in all of its project's repositories.
 * @param see receives each comparison
 * @throws Problem as `compareWork` does
 */
export async function countChangedFiles(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectPlaces,
  see: (repository: string, comparison: Comparison) => Promise<void>,
): Promise<number> {
  let count = 0
  for (const work of await listWork(db, card, project)) {
    const comparison = await compareWork(worktrees, work.card, work.project, { numbersOnly: true })
    if (!comparison) continue
    count += comparison.work.stats.filesChanged
    await see(work.repository, comparison)
  }
  return count
}

/** The tree of a card's current files in a repository. */
export interface WorkTree {
  repository: string
  tree: string
}

/**
 * The trees of a card's current files, uncommitted ones included, in all of its project's repositories. Undefined if a repository has no
 * files to compare. With `stores`, the trees are stored in the repositories.
 * @throws Problem as `compareWork` does
 */
export async function listTrees(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectPlaces,
  { stores = false }: Pick<DiffOptions, 'stores'> = {},
): Promise<WorkTree[] | undefined> {
  const trees: WorkTree[] = []
  for (const { repository, ...work } of await listWork(db, card, project)) {
    const comparison = await compareWork(worktrees, work.card, work.project, { numbersOnly: true, stores })
    if (!comparison) return undefined
    trees.push({ repository, tree: await treeOfWork(work.project, comparison) })
  }
  return trees
}

/** The trees of `listTrees` as one text, which is equal for equal files. */
export const textOfTrees = (trees: readonly WorkTree[]): string => trees.map(({ tree }) => tree).join()

/** The tree of compared files. The files of a branch without a worktree are compared as a commit. */
export async function treeOfWork(project: ProjectPlaces, { snapshot, headCommit }: Comparison): Promise<string> {
  if (snapshot !== headCommit) return snapshot
  const repository = await findProjectRepository(project)
  return (repository && (await treesOf(repository.commonDir, [snapshot]))[0]) ?? snapshot
}

/**
 * A card's work in each of its project's repositories, the home first.
 * @throws Problem CONFLICT if Git fails or takes too long
 */
export async function list(
  worktrees: Worktrees,
  db: Reader,
  card: CardRow,
  project: ProjectPlaces,
): Promise<Array<InferOutput<typeof CardRepository>>> {
  const works = await listWork(db, card, project)
  const all = [{ name: home, path: project.path }, ...repositoriesOf(project)]
  const listed: Array<InferOutput<typeof CardRepository>> = []
  for (const { name, path } of all) {
    const work = works.find(({ repository }) => repository === name)
    const { worktreePath = null, gitBranch = null, baseCommit = null } = work?.card ?? {}
    listed.push({
      name,
      path,
      worktree: worktreePath !== null && (await kindOf(worktreePath)) === 'folder',
      branch: gitBranch,
      ...(await readTargets(projectIn(project, name))),
      baseCommit,
      ...(work ? await measure(worktrees, work) : untouched),
    })
  }
  return listed
}

/** The default targets of a merge and of a push. */
async function readTargets(project: ProjectPlaces): Promise<{ mergesInto: string | null; remote: string | null }> {
  const repository = await findProjectRepository(project).catch((error: unknown) => {
    // The repository no longer exists, or was replaced by another one.
    if (error instanceof Problem) return undefined
    throw error
  })
  if (!repository) return { mergesInto: null, remote: null }
  const remote = await findRemote(repository).catch((error: unknown) => {
    if (error instanceof Problem) return null
    throw error
  })
  return { mergesInto: repository.branch ?? null, remote: remote?.name ?? null }
}

const untouched = { touched: false, additions: 0, deletions: 0 }

async function measure(worktrees: Worktrees, { card, project }: RepositoryWork): Promise<typeof untouched> {
  const comparison = await compareWork(worktrees, card, project, { numbersOnly: true }).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'NOT_A_GIT_REPOSITORY') return undefined
    throw error
  })
  if (!comparison) return untouched
  const { insertions: additions, deletions } = comparison.work.stats
  return { touched: isTouched(comparison), additions, deletions }
}

/** Whether there are commits since the base, or changes. */
export const isTouched = ({ work, baseCommit, headCommit }: Comparison): boolean =>
  work.stats.filesChanged > 0 || (baseCommit !== null && headCommit !== null && headCommit !== baseCommit)

/** Stores the commit that a card's changes in a repository are compared with. */
export async function keepBase(
  db: Database,
  { repository, card }: Pick<RepositoryWork, 'repository' | 'card'>,
  baseCommit: string,
): Promise<void> {
  if (repository === home) return saveCardChange(db, card, { baseCommit })
  await db.transaction(async tx => {
    const row = await readCardRepository(tx, card.id, repository)
    if (row) await putCardRepository(tx, { ...row, baseCommit })
  })
}

/** A branch as a card's activity names it, with its repository unless that is the home. */
export const branchWords = (repository: string, branch: string): string =>
  repository === home ? branch : `${branch} in ${repository}`

/** Adds the repository to the message of a problem, if there are several. */
export function inRepository(repository: string, error: unknown): unknown {
  if (!(error instanceof Problem) || repository === home) return error
  const details = error.details?.map(({ path, message }) => ({ path, message: `${message} in ${repository}` }))
  return new Problem(error.code, `In the repository ${repository}: ${error.message}`, {
    cause: error,
    ...(details && { details }),
  })
}

/** Adds to a conflict the command with which the card's agent resolves it. */
export function withResolution<Failure>(error: Failure, cardId: number, repository: string): Failure | Problem {
  if (!(error instanceof Problem) || error.code !== 'MERGE_CONFLICT') return error
  const option = repository === home ? '' : ` --repository ${repository}`
  return new Problem(
    error.code,
    `${error.message} To have the card's agent resolve the conflicts, run: board cards update ${cardId} --resolve${option}`,
    { cause: error, details: error.details },
  )
}

function refuse(rule: string): never {
  throw invalid('repository', rule)
}
