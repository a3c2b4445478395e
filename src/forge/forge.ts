import type { MergeMethod } from '../contract/forge.ts'
import type { CheckState, ReviewVerdict } from '../contract/pullRequestRecords.ts'

/**
 * What the board needs of a forge (GitHub, GitLab, Gitea or Forgejo, a command). All text and every address that it answers are bounded
 * and without control characters, and addresses are of http or https; what they say is hostile all the same.
 * Each function throws ForgeFailed.
 */
export interface Forge {
  /** The account that the token belongs to, to know what the board has said itself. */
  account(): Promise<string>
  repository(): Promise<{ defaultBranch: string; url: string; mergeMethods: readonly MergeMethod[] }>
  /** The newest request from a branch of this repository, open ones first. */
  findPull(branch: string): Promise<ForgePull | undefined>
  /** Fails with 'invalid' where there is one already. `notTaken`: reviewers and labels that the forge does not know, and why. */
  createPull(request: NewPull): Promise<{ pull: ForgePull; notTaken: readonly string[] }>
  /** What `since` knows (an ETag) may be answered with 'unchanged'. */
  readPull(number: number, since?: string): Promise<ForgePull | 'unchanged'>
  /** Names that are there already are not added, and those that are not there not taken away. `notTaken` as when it is made. */
  updatePull(number: number, change: PullChange): Promise<{ pull: ForgePull; notTaken: readonly string[] }>
  closePull(number: number): Promise<void>
  /** Merges if its head is still `headCommit`. @returns the commit that it came to in the base */
  mergePull(number: number, merge: { method: MergeMethod; headCommit: string; title?: string }): Promise<string | null>
  listChecks(pull: Pick<ForgePull, 'number' | 'headCommit'>): Promise<ForgeCheck[]>
  /** The end of a failed check's log, and the lines around errors in it; undefined where the forge has none. */
  readCheckLog(check: ForgeCheck, maxBytes: number): Promise<string | undefined>
  /** Of each author the newest that counts: a verdict goes before remarks that came after it. */
  listReviews(number: number): Promise<ForgeReview[]>
  /** Comments on lines, on the request as a whole, and what reviews without a verdict say, oldest first. */
  listPullComments(number: number): Promise<ForgeComment[]>
  /** Answers a comment on a line in its thread; without `to`, or where that is in no thread, comments on the request. */
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

/** Of a forge, its requests. */
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
  /** People who are asked for a review. On GitHub and Gitea not those who have answered. */
  reviewers: readonly string[]
  labels: readonly string[]
  /** Null while the forge is computing it. */
  mergeable: boolean | null
  /**
   * Whether all is there that the forge demands before a merge: checks, approvals. Checks that it does not demand may fail or be running.
   * Null where it does not say.
   */
  ready: boolean | null
  mergeCommit: string | null
  updatedAt: string
  /** For `readPull`. */
  etag?: string
}
export interface ForgeCheck {
  /** The forge's own name of this run: a check that restarts has another. */
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
  /** Where it stands in the changes. */
  path: string | null
  line: number | null
  /** The review that it is part of. */
  reviewId: string | null
  /** The comment that it answers. */
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
 * unreachable: no answer, or 5xx after retries. limited: too many requests; `retryAt` says until when. refused: the token is wrong or may
 * not do this. missing: there is no such repository, request or issue. invalid: the forge does not take what was asked, and `message` says
 * why. conflict: its state does not allow it: not mergeable, another head. odd: its answer is none that it documents.
 */
export type ForgeFailure = 'unreachable' | 'limited' | 'refused' | 'missing' | 'invalid' | 'conflict' | 'odd'

/** A forge did not do what it was asked. The message holds no secret. */
export class ForgeFailed extends Error {
  readonly reason: ForgeFailure
  /** Epoch milliseconds before which it is not to be asked again. */
  readonly retryAt: number | undefined
  constructor(reason: ForgeFailure, message: string, { retryAt, cause }: { retryAt?: number; cause?: unknown } = {}) {
    super(message, { cause })
    this.name = 'ForgeFailed'
    this.reason = reason
    this.retryAt = retryAt
  }
}

/** Where a forge is and which repository is meant. */
export interface ForgeAddress {
  kind: 'github' | 'gitlab' | 'gitea'
  /** Of its API, without a slash at the end: https://api.github.com, https://gitlab.com/api/v4, https://codeberg.org/api/v1. */
  apiUrl: string
  /** Of its pages: https://github.com. Git over HTTP is there too. */
  webUrl: string
  /** owner/name; on GitLab with all groups. */
  repository: string
}
