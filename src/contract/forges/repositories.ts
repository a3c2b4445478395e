import * as v from 'valibot'
import { AfterMerge, DoneAfterMerge } from './afterMerge.ts'
import { Count, text } from '../fields.ts'

const maxRepositories = 20
/** A folder on the server. */
export const FolderPath = text(1, 4096)
/** The display name of a project's home repository. No other repository can have this name. */
export const homeName = 'home'
/** The name of a project's home repository in requests and responses. */
export const home = ''

/** The name of the folder with a card's worktree of the repository. */
const RepositoryName = v.pipe(
  text(1, 60),
  v.regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/,
    'must contain only letters, digits, dots, hyphens and underscores',
  ),
  v.check(
    name => !/\.(?:unfinished|set-up|git|lock|aside-\d+)$/i.test(name),
    'must not end like a file of the board or of Git',
  ),
  v.check(
    name => name.toLowerCase() !== homeName,
    `must not be ${homeName}: that is the repository of the project's folder`,
  ),
)
/** Another repository of a project: the root folder of its working tree. */
export const Repository = v.strictObject({ name: RepositoryName, path: FolderPath })
export type Repository = v.InferOutput<typeof Repository>
export const Repositories = v.pipe(
  v.array(Repository),
  v.maxLength(maxRepositories, `must have at most ${maxRepositories} entries`),
  v.check(
    all => new Set(all.map(({ name }) => name.toLowerCase())).size === all.length,
    'must have unique names, regardless of case',
  ),
)
/** Names one of a project's repositories; empty: its home. */
export const GivenRepository = v.union([v.literal(home), RepositoryName], 'must be the name of a repository')
/** The name of a repository, with the home as the default. */
export const RepositoryRef = v.optional(GivenRepository, home)

/** A card's work in one of its project's repositories; `name` is empty for the home. */
export const CardRepository = v.object({
  name: v.string(),
  /** The repository's own folder. */
  path: v.string(),
  /** Whether the card currently has a worktree there. Its location is not shown. */
  worktree: v.boolean(),
  branch: v.nullable(v.string()),
  /** The checked-out branch of the repository's folder: the default target of a merge. Null if no branch is checked out. */
  mergesInto: v.nullable(v.string()),
  /** The remote that a push uses by default. Null if there is none. */
  remote: v.nullable(v.string()),
  baseCommit: v.nullable(v.string()),
  /** Whether the card has commits or changes there. */
  touched: v.boolean(),
  additions: Count,
  deletions: Count,
})

/**
 * Without `repository`, all repositories with changes are merged. Without `moveToDone` and `removeWorktree`, the project's
 * `afterMerge` applies.
 */
export const MergeWork = v.strictObject({
  ...v.partial(AfterMerge).entries,
  into: v.optional(text(1, 250)),
  squash: v.optional(v.boolean(), false),
  repository: v.optional(GivenRepository),
  force: v.optional(v.boolean(), false),
})
/** Without `repository`, all repositories with changes are tried. */
export const CheckMerge = v.strictObject({ into: v.optional(text(1, 250)), repository: v.optional(GivenRepository) })
/** The result of a tried merge in a repository. */
export const CheckedMerge = v.object({
  repository: v.string(),
  /** The target branch. Null if no branch was named and the merge is not possible. */
  into: v.nullable(v.string()),
  /** False if `into` already contains the work of the card. */
  hasWork: v.boolean(),
  /** Why the merge is not possible now. Null if it is. For conflicts, `details` names the files. */
  problem: v.nullable(
    v.object({
      code: v.picklist(['MERGE_CONFLICT', 'WORKTREE_DIRTY', 'AGENT_ALREADY_RUNNING']),
      message: v.string(),
      details: v.array(v.object({ path: v.string(), message: v.string() })),
    }),
  ),
})
const merged = { merged: v.boolean(), into: v.string(), commit: v.string() }
/**
 * `repositories` contains each checked repository. The other fields describe the first one, or whether there was any work at all.
 */
export const MergedWork = v.object({
  ...merged,
  after: DoneAfterMerge,
  repositories: v.array(v.object({ repository: v.string(), ...merged })),
})
