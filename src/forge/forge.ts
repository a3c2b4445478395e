import type { MergeMethod } from '../contract/forges/forge.ts'
import type { CheckState, ReviewVerdict } from '../contract/forges/pullRequestRecords.ts'

/**
 * The forge functions that the board needs (GitHub, GitLab, Gitea or Forgejo, a command). All texts and addresses in their
 * results are limited in length and without control characters, and addresses use http or https. Their content is still
 * untrusted. Each function throws ForgeFailed.
 */
export interface Forge {
  /** The account of the token, to recognize the board's own comments. */
  account(): Promise<string>
  repository(): Promise<{ defaultBranch: string; url: string; mergeMethods: readonly MergeMethod[] }>
  /** The newest pull request from a branch of this repository, open ones first. */
  findPull(branch: string): Promise<ForgePull | undefined>
  /** Fails with 'invalid' if there already is one. `notTaken`: reviewers and labels that the forge does not accept, and why. */
  createPull(request: NewPull): Promise<{ pull: ForgePull; notTaken: readonly string[] }>
  /** If nothing changed since `since` (an ETag), the result can be 'unchanged'. */
  readPull(number: number, since?: string): Promise<ForgePull | 'unchanged'>
  /** Adding an existing name and removing a missing one have no effect. `notTaken` as in `createPull`. */
  updatePull(number: number, change: PullChange): Promise<{ pull: ForgePull; notTaken: readonly string[] }>
  closePull(number: number): Promise<void>
  /** Merges if its head is still `headCommit`. @returns the resulting commit in the base */
  mergePull(number: number, merge: { method: MergeMethod; headCommit: string; title?: string }): Promise<string | null>
  listChecks(pull: Pick<ForgePull, 'number' | 'headCommit'>): Promise<ForgeCheck[]>
  /** The end of a failed check's log, and the lines around errors in it. Undefined if the forge has no log. */
  readCheckLog(check: ForgeCheck, maxBytes: number): Promise<string | undefined>
  /** The newest relevant review of each author: a verdict takes precedence over later comments. */
  listReviews(number: number): Promise<ForgeReview[]>
  /** Comments on lines and on the pull request as a whole, and the texts of reviews without a verdict, oldest first. */
  listPullComments(number: number): Promise<ForgeComment[]>
  /** Answers a comment on a line in its thread. Without `to`, or if `to` is in no thread, comments on the pull request. */
  commentOnPull(number: number, body: string, to?: string): Promise<ForgeComment>
  /** Issues, not pull requests, with a label, that changed since a time; oldest change first. */
  listIssues(query: { label: string; since?: string }): Promise<ForgeIssue[]>
  readIssue(number: number): Promise<ForgeIssue>
  closeIssue(number: number): Promise<void>
  reopenIssue(number: number): Promise<void>
  listIssueComments(number: number, since?: string): Promise<ForgeComment[]>
  commentOnIssue(number: number, body: string): Promise<ForgeComment>
  editIssueComment(number: number, id: string, body: string): Promise<void>
  deleteIssueComment(number: number, id: string): Promise<void>
}

/** The functions for pull requests. */
export type PullPart = Pick<
  Forge,
  'account' | 'repository' | 'findPull' | 'createPull' | 'readPull' | 'updatePull' | 'closePull' | 'mergePull'
>

export interface NewPull {
  branch: string
  base: string
  title: string
  body: string
  draft: boolean
  reviewers: readonly string[]
  labels: readonly string[]
}
export interface PullChange extends Partial<Pick<NewPull, 'title' | 'body' | 'draft' | 'base'>> {
  addReviewers?: readonly string[]
  removeReviewers?: readonly string[]
  addLabels?: readonly string[]
  removeLabels?: readonly string[]
}
export interface ForgePull {
  number: number
  url: string
  title: string
  body: string
  state: 'open' | 'merged' | 'closed'
  draft: boolean
  base: string
  branch: string
  headCommit: string
  /** The requested reviewers. On GitHub and Gitea, without those who have answered. */
  reviewers: readonly string[]
  labels: readonly string[]
  /** Null while the forge is computing it. */
  mergeable: boolean | null
  /**
   * Whether everything that the forge requires before a merge is present: checks, approvals. Optional checks can fail or be
   * running. Null if the forge does not report it.
   */
  ready: boolean | null
  mergeCommit: string | null
  updatedAt: string
  /** The ETag for `readPull`. */
  etag?: string
}
export interface ForgeCheck {
  /** The forge's ID of this run. A restarted check has another one. */
  id: string
  name: string
  state: CheckState
  url: string | null
}
export interface ForgeReview {
  id: string
  author: string
  state: ReviewVerdict
  body: string
  url: string | null
  submittedAt: string
  /** The commit that was reviewed. */
  commit: string | null
}
export interface ForgeComment {
  id: string
  author: string
  body: string
  /** The file of the comment in the changes. */
  path: string | null
  line: number | null
  /** The review that the comment belongs to. */
  reviewId: string | null
  /** The comment that this one answers. */
  inReplyTo: string | null
  resolved: boolean
  createdAt: string
  updatedAt: string
}
export interface ForgeIssue {
  number: number
  url: string
  title: string
  body: string
  state: 'open' | 'closed'
  labels: readonly string[]
  author: string
  updatedAt: string
}

/**
 * unreachable: no response, or 5xx after retries. limited: too many requests; `retryAt` is the end of the limit. refused: the
 * token is invalid or lacks a permission. missing: the repository, pull request or issue does not exist. invalid: the forge does
 * not accept the request, and `message` explains why. conflict: the state does not allow it: not mergeable, another head. odd:
 * the response is not documented.
 */
export type ForgeFailure = 'unreachable' | 'limited' | 'refused' | 'missing' | 'invalid' | 'conflict' | 'odd'

/** Thrown if a request to a forge failed. The message contains no secret. */
export class ForgeFailed extends Error {
  readonly reason: ForgeFailure
  /** Epoch milliseconds before which the forge must not be queried again. */
  readonly retryAt: number | undefined
  constructor(reason: ForgeFailure, message: string, { retryAt, cause }: { retryAt?: number; cause?: unknown } = {}) {
    super(message, { cause })
    this.name = 'ForgeFailed'
    this.reason = reason
    this.retryAt = retryAt
  }
}

/** The location of a forge and its repository. */
export interface ForgeAddress {
  kind: 'github' | 'gitlab' | 'gitea'
  /**
   * The address of its API, without a trailing slash: https://api.github.com, https://gitlab.com/api/v4,
   * https://codeberg.org/api/v1.
   */
  apiUrl: string
  /** The address of its pages, and of Git over HTTP: https://github.com. */
  webUrl: string
  /** owner/name; on GitLab with all groups. */
  repository: string
}
