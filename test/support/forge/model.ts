/** The state of a forge, in neutral terms. Times are in milliseconds. */

export interface Account {
  id: number
  login: string
}
export interface Issue {
  id: number
  number: number
  title: string
  body: string
  author: string
  labels: string[]
  state: 'open' | 'closed'
  /** The reason why it was closed. */
  reason: 'completed' | 'not_planned' | 'reopened' | null
  createdAt: number
  updatedAt: number
  closedAt: number | null
}
export interface Pull {
  id: number
  number: number
  title: string
  body: string
  author: string
  head: string
  base: string
  /** The head's commit at the forge's last check; it is kept when the branch is deleted. */
  headSha: string
  baseSha: string
  /** The base's commit when it was opened. */
  openedOn: string
  draft: boolean
  state: 'open' | 'closed' | 'merged'
  labels: string[]
  reviewers: string[]
  mergeCommit: string | null
  mergedBy: string | null
  /** The forge's merge method; null if a user pushed the merge. */
  mergedAs: MergeMethod | 'ff' | null
  /** Merges automatically when all requirements are met. */
  autoMerge: MergeMethod | null
  createdAt: number
  updatedAt: number
  closedAt: number | null
  /** For how many more responses the forge does not know yet whether it can be merged. */
  unknownFor: number
}
export type MergeMethod = 'merge' | 'squash' | 'rebase'
/** A comment on an issue or on a request as a whole. */
export interface Comment {
  id: number
  number: number
  onPull: boolean
  author: string
  body: string
  createdAt: number
  updatedAt: number
}
export interface Review {
  id: number
  number: number
  author: string
  state: 'approved' | 'changes_requested' | 'commented' | 'dismissed'
  body: string
  commit: string
  submittedAt: number
}
/** A comment on a line, or a reply to one. */
export interface LineComment {
  id: number
  number: number
  reviewId: number
  /** Comments that belong together. */
  thread: string
  inReplyTo: number | null
  path: string
  line: number
  startLine: number | null
  side: 'LEFT' | 'RIGHT'
  commit: string
  author: string
  body: string
  resolved: boolean
  createdAt: number
  updatedAt: number
}
export type CheckState = 'queued' | 'running' | 'success' | 'failure' | 'cancelled' | 'skipped'
export interface Check {
  id: number
  /** The run, suite or pipeline to which it belongs. */
  runId: number
  commit: string
  name: string
  state: CheckState
  log: string
  /** run: has a log. status: has only a result. */
  kind: 'run' | 'status'
  url: string | null
  description: string | null
  createdAt: number
  updatedAt: number
}
export interface Protection {
  /** The required number of approvals. */
  approvals: number
  /** The names of checks that must pass. */
  checks: string[]
  /** Whether new commits revoke approvals. */
  dismissStale: boolean
}
/** A change, which a webhook reports in the forge's own terms. */
export type Change =
  | {
      kind: 'pull'
      action:
        | 'opened'
        | 'edited'
        | 'synchronize'
        | 'closed'
        | 'merged'
        | 'reopened'
        | 'ready'
        | 'draft'
        | 'labeled'
        | 'review_requested'
      pull: Pull
      before?: string
      actor: string
    }
  | {
      kind: 'issue'
      action: 'opened' | 'edited' | 'closed' | 'reopened' | 'labeled' | 'unlabeled'
      issue: Issue
      label?: string
      actor: string
    }
  | { kind: 'comment'; action: 'created' | 'edited' | 'deleted'; comment: Comment; actor: string }
  | { kind: 'review'; review: Review; actor: string }
  | { kind: 'line'; comment: LineComment; actor: string }
  | { kind: 'check'; check: Check; actor: string }
  | { kind: 'push'; branch: string; before: string; after: string; actor: string }
