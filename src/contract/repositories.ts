import * as v from 'valibot'
import { AfterMerge, DoneAfterMerge } from './afterMerge.ts'
import { Count, text } from './fields.ts'

const maxRepositories = 20
/** A folder of the server's. */
export const FolderPath = text(1, 4096)
/** The name by which people call a project's home repository. No other repository has this name. */
export const homeName = 'home'
/** The name of a project's home repository in requests and answers. */
export const home = ''

/** The name of the folder that a card's worktree of the repository has. */
const RepositoryName = v.pipe(
  text(1, 60),
  v.regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/,
    'must be like the name of a folder: letters, digits, dots, hyphens and underscores',
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
/** A further repository of a project: the top folder of its working tree. */
export const Repository = v.strictObject({ name: RepositoryName, path: FolderPath })
export type Repository = v.InferOutput<typeof Repository>
export const Repositories = v.pipe(
  v.array(Repository),
  v.maxLength(maxRepositories, `must be at most ${maxRepositories}`),
  v.check(
    all => new Set(all.map(({ name }) => name.toLowerCase())).size === all.length,
    'must have names that differ, not only in upper and lower case',
  ),
)
/** Names one of a project's repositories; empty: its home. */
export const GivenRepository = v.union([v.literal(home), RepositoryName], 'must be the name of a repository')
/** The same where the home is what is usually meant. */
export const RepositoryRef = v.optional(GivenRepository, home)

/** What a card has in one of its project's repositories; `name` is empty for the home. */
export const CardRepository = v.object({
  name: v.string(),
  /** The repository's own folder. */
  path: v.string(),
  /** Whether the card has a worktree there now. Where it is stays with the server. */
  worktree: v.boolean(),
  branch: v.nullable(v.string()),
  /** The branch that the repository's folder is on: the default target of a merge. Null if it is on none. */
  mergesInto: v.nullable(v.string()),
  baseCommit: v.nullable(v.string()),
  /** Whether it has commits or changes there. */
  touched: v.boolean(),
  additions: Count,
  deletions: Count,
})

/** Without `repository` all that the card has touched are merged. Without `moveToDone` and `removeWorktree`, the project's `afterMerge` applies. */
export const MergeWork = v.strictObject({
  ...v.partial(AfterMerge).entries,
  into: v.optional(text(1, 250)),
  squash: v.optional(v.boolean(), false),
  repository: v.optional(GivenRepository),
})
const merged = { merged: v.boolean(), into: v.string(), commit: v.string() }
/** `repositories` has each that was looked at; the rest says the same of the first, or whether there was anything at all. */
export const MergedWork = v.object({
  ...merged,
  after: DoneAfterMerge,
  repositories: v.array(v.object({ repository: v.string(), ...merged })),
})
