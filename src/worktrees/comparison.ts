import { Problem } from '../contract/errors.ts'
import { GitFailed } from '../git/git.ts'

/** A unified diff with its counts. Binary and very large files are listed without lines. */
export interface WorkDiff {
  diff: string
  stats: DiffStats
  truncated: boolean
}
interface DiffStats {
  filesChanged: number
  insertions: number
  deletions: number
}

/**
 * `numbersOnly` omits the text. `since` replaces the base commit by an object that `compareWorktree` or
 * `compareCommits` returned as `snapshot`. `stores` packs the snapshot's objects.
 */
export interface DiffOptions {
  numbersOnly?: boolean
  since?: string
  stores?: boolean
}
/** A diff and the state that it describes. `snapshot` is the object with the current files, `headCommit` is their commit. */
export interface Comparison {
  work: WorkDiff
  baseCommit: string | null
  headCommit: string | null
  snapshot: string
}

export const noDiff: WorkDiff = { diff: '', stats: { filesChanged: 0, insertions: 0, deletions: 0 }, truncated: false }

const compareFailures: Partial<Record<GitFailed['reason'], string>> = {
  timeout: 'Git took too long to compare the files.',
  memory: 'Git requires more memory to compare the files than it can use.',
}

/** The Problem to report if Git failed to compare files. Other errors are unchanged. */
export const compareProblem = (error: unknown): unknown =>
  error instanceof GitFailed
    ? new Problem('CONFLICT', compareFailures[error.reason] ?? 'Git could not compare the files.', { cause: error })
    : error
