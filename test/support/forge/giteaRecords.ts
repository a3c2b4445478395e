import type { ForgeState } from './forgeState.ts'
import type { Check, Comment, Issue, LineComment, Pull, Review } from './model.ts'
import { iso, isoOrNull, type Place } from './wire.ts'

const reviewStates = {
  approved: 'APPROVED',
  changes_requested: 'REQUEST_CHANGES',
  commented: 'COMMENT',
  dismissed: 'APPROVED',
} as const
const statusStates = {
  queued: 'pending',
  running: 'pending',
  success: 'success',
  failure: 'failure',
  cancelled: 'failure',
  skipped: 'skipped',
} as const

export const draftTitle = /^\s*(?:wip:|\[wip\])/i

/** Records in the format of Gitea and Forgejo, with the fields in their description of the API (version 1). */
export class GiteaRecords {
  readonly state: ForgeState
  readonly place: Place

  constructor(state: ForgeState, place: Place) {
    this.state = state
    this.place = place
  }

  get page(): string {
    return `${this.place.url}/${this.place.owner}/${this.place.name}`
  }
  get repo(): string {
    return `${this.place.url}/api/v1/repos/${this.place.owner}/${this.place.name}`
  }

  user(login: string) {
    const { id } = this.state.account(login)
    return {
      id,
      login,
      login_name: '',
      source_id: 0,
      full_name: '',
      email: `${login}@noreply.localhost`,
      avatar_url: `${this.place.url}/avatars/${id}`,
      html_url: `${this.place.url}/${login}`,
      language: '',
      is_admin: false,
      last_login: iso(0),
      created: iso(0),
      restricted: false,
      active: false,
      prohibit_login: false,
      location: '',
      website: '',
      description: '',
      visibility: 'public',
      followers_count: 0,
      following_count: 0,
      starred_repos_count: 0,
    }
  }

  repository() {
    const { owner, name, url } = this.place
    const { merge, squash, rebase } = this.state.mergeMethods
    return {
      id: 1,
      owner: this.user(owner),
      name,
      full_name: `${owner}/${name}`,
      description: '',
      empty: false,
      private: true,
      fork: false,
      template: false,
      mirror: false,
      size: 0,
      language: '',
      html_url: this.page,
      url: this.repo,
      link: '',
      ssh_url: `git@${new URL(url).hostname}:${owner}/${name}.git`,
      clone_url: `${this.page}.git`,
      original_url: '',
      website: '',
      stars_count: 0,
      forks_count: 0,
      watchers_count: 0,
      open_issues_count: this.state.issues.filter(({ state }) => state === 'open').length,
      open_pr_counter: this.state.pulls.filter(({ state }) => state === 'open').length,
      default_branch: this.state.repository.defaultBranch,
      archived: false,
      created_at: iso(0),
      updated_at: iso(0),
      permissions: { admin: false, push: true, pull: true },
      has_issues: true,
      has_pull_requests: true,
      has_actions: true,
      allow_merge_commits: merge,
      allow_squash_merge: squash,
      allow_rebase: rebase,
      allow_rebase_explicit: rebase,
      allow_fast_forward_only_merge: false,
      default_merge_style: 'merge',
      default_delete_branch_after_merge: this.state.deleteMergedBranches,
      object_format_name: 'sha1',
    }
  }

  label(name: string) {
    const { id, color, description } = this.state.labels.get(name)!
    return { id, name, exclusive: false, is_archived: false, color, description, url: `${this.repo}/labels/${id}` }
  }

  #side(ref: string, sha: string, isGone: boolean, number: number) {
    return { label: ref, ref: isGone ? `refs/pull/${number}/head` : ref, sha, repo_id: 1, repo: this.repository() }
  }

  pull(pull: Pull) {
    const html = `${this.page}/pulls/${pull.number}`
    const files = this.state.repository.files(pull.baseSha, pull.headSha)
    const isGone = this.state.repository.tip(pull.head) === undefined
    const isMerged = pull.state === 'merged'
    const obstacle = this.state.obstacle(pull)
    return {
      id: pull.id,
      url: html,
      number: pull.number,
      user: this.user(pull.author),
      title: pull.title,
      body: pull.body,
      labels: pull.labels.map(name => this.label(name)),
      milestone: null,
      assignee: null,
      assignees: null,
      requested_reviewers: pull.reviewers.map(login => this.user(login)),
      requested_reviewers_teams: null,
      state: pull.state === 'open' ? 'open' : 'closed',
      draft: pull.draft,
      is_locked: false,
      comments: this.state.comments.filter(({ number }) => number === pull.number).length,
      review_comments: this.state.lineComments.filter(({ number }) => number === pull.number).length,
      additions: files.reduce((sum, file) => sum + file.additions, 0),
      deletions: files.reduce((sum, file) => sum + file.deletions, 0),
      changed_files: files.length,
      html_url: html,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
      // A request with an unknown state cannot be merged, and neither can a draft.
      mergeable: !['closed', 'unknown', 'conflict', 'draft'].includes(obstacle ?? ''),
      merged: isMerged,
      merged_at: isMerged ? isoOrNull(pull.closedAt) : null,
      merge_commit_sha: pull.mergeCommit,
      merged_by: isMerged && pull.mergedBy !== null ? this.user(pull.mergedBy) : null,
      allow_maintainer_edit: false,
      base: this.#side(pull.base, pull.baseSha, false, pull.number),
      head: this.#side(pull.head, pull.headSha, isGone, pull.number),
      merge_base: this.state.repository.base(pull.baseSha, pull.headSha) ?? '',
      due_date: null,
      created_at: iso(pull.createdAt),
      updated_at: iso(pull.updatedAt),
      closed_at: isoOrNull(pull.closedAt),
      pin_order: 0,
    }
  }

  issue(issue: Issue | Pull) {
    const isPull = 'head' in issue
    const html = `${this.page}/${isPull ? 'pulls' : 'issues'}/${issue.number}`
    const isMerged = issue.state === 'merged'
    return {
      id: issue.id,
      url: `${this.repo}/issues/${issue.number}`,
      html_url: html,
      number: issue.number,
      user: this.user(issue.author),
      original_author: '',
      original_author_id: 0,
      title: issue.title,
      body: issue.body,
      ref: '',
      assets: [],
      labels: issue.labels.map(name => this.label(name)),
      milestone: null,
      assignee: null,
      assignees: null,
      state: issue.state === 'open' ? 'open' : 'closed',
      is_locked: false,
      comments: this.state.comments.filter(({ number }) => number === issue.number).length,
      created_at: iso(issue.createdAt),
      updated_at: iso(issue.updatedAt),
      closed_at: isoOrNull(issue.closedAt),
      due_date: null,
      pull_request: isPull
        ? {
            merged: isMerged,
            merged_at: isMerged ? isoOrNull(issue.closedAt) : null,
            draft: issue.draft,
            html_url: html,
          }
        : null,
      repository: {
        id: 1,
        name: this.place.name,
        owner: this.place.owner,
        full_name: `${this.place.owner}/${this.place.name}`,
      },
      pin_order: 0,
    }
  }

  comment(comment: Comment) {
    const page = `${this.page}/${comment.onPull ? 'pulls' : 'issues'}/${comment.number}`
    return {
      id: comment.id,
      html_url: `${page}#issuecomment-${comment.id}`,
      pull_request_url: comment.onPull ? page : '',
      issue_url: comment.onPull ? '' : page,
      user: this.user(comment.author),
      original_author: '',
      original_author_id: 0,
      body: comment.body,
      assets: [],
      created_at: iso(comment.createdAt),
      updated_at: iso(comment.updatedAt),
    }
  }

  review(review: Review) {
    const pull = this.state.pulls.find(({ number }) => number === review.number)!
    const html = `${this.page}/pulls/${review.number}`
    return {
      id: review.id,
      user: this.user(review.author),
      team: null,
      state: reviewStates[review.state] as string,
      body: review.body,
      commit_id: review.commit,
      stale: review.commit !== pull.headSha,
      official: review.state !== 'commented' && !this.state.outsiders.has(review.author),
      dismissed: review.state === 'dismissed',
      comments_count: this.state.lineComments.filter(({ reviewId }) => reviewId === review.id).length,
      submitted_at: iso(review.submittedAt),
      updated_at: iso(review.submittedAt),
      html_url: `${html}#issuecomment-${review.id}`,
      pull_request_url: html,
    }
  }

  /** A user with a requested review is listed among the reviewers. */
  requestedReview(pull: Pull, login: string) {
    const asked = {
      id: 1_000_000 + this.state.account(login).id,
      number: pull.number,
      author: login,
      state: 'commented' as const,
      body: '',
      commit: '',
      submittedAt: pull.updatedAt,
    }
    return { ...this.review(asked), state: 'REQUEST_REVIEW', stale: false }
  }

  lineComment(comment: LineComment) {
    const html = `${this.page}/pulls/${comment.number}`
    const isOld = comment.side === 'LEFT'
    const line = this.state.isCurrent(comment) ? comment.line : 0
    return {
      id: comment.id,
      body: comment.body,
      user: this.user(comment.author),
      resolver: comment.resolved ? this.user('ann') : null,
      pull_request_review_id: comment.reviewId,
      created_at: iso(comment.createdAt),
      updated_at: iso(comment.updatedAt),
      path: comment.path,
      commit_id: comment.commit,
      original_commit_id: comment.commit,
      diff_hunk: `@@ -0,0 +${comment.line} @@\n+${this.state.repository.line(comment.commit, comment.path, comment.line) ?? ''}`,
      position: isOld ? 0 : line,
      original_position: isOld ? line : 0,
      html_url: `${html}#issuecomment-${comment.id}`,
      pull_request_url: html,
    }
  }

  /** A job of Actions has a status called "workflow / job (event)", which links to it. */
  status(check: Check) {
    const isRun = check.kind === 'run'
    return {
      id: check.id,
      status: statusStates[check.state] as string,
      target_url:
        check.url ??
        (isRun ? `/${this.place.owner}/${this.place.name}/actions/runs/${check.runId}/jobs/${check.id}` : ''),
      description: check.description ?? '',
      url: `${this.repo}/statuses/${check.commit}`,
      context: isRun ? `ci.yaml / ${check.name} (pull_request)` : check.name,
      creator: this.user('ci'),
      created_at: iso(check.createdAt),
      updated_at: iso(check.updatedAt),
    }
  }

  #progress({ state }: Check): { status: string; conclusion: string } {
    if (state === 'queued') return { status: 'queued', conclusion: '' }
    return state === 'running' ? { status: 'in_progress', conclusion: '' } : { status: 'completed', conclusion: state }
  }

  run(check: Check) {
    const url = `${this.page}/actions/runs/${check.runId}`
    return {
      id: check.runId,
      url: `${this.repo}/actions/runs/${check.runId}`,
      html_url: url,
      display_title: 'CI',
      path: 'ci.yaml@refs/heads/main',
      event: 'pull_request',
      run_attempt: 1,
      run_number: check.runId,
      head_sha: check.commit,
      head_branch: this.state.pulls.find(({ headSha }) => headSha === check.commit)?.head ?? '',
      ...this.#progress(check),
      started_at: iso(check.createdAt),
      completed_at: iso(check.updatedAt),
    }
  }

  job(check: Check) {
    return {
      id: check.id,
      url: `${this.repo}/actions/jobs/${check.id}`,
      html_url: `${this.page}/actions/runs/${check.runId}/jobs/${check.id}`,
      run_id: check.runId,
      run_url: `${this.repo}/actions/runs/${check.runId}`,
      name: check.name,
      labels: ['ubuntu-latest'],
      run_attempt: 1,
      head_sha: check.commit,
      head_branch: this.state.pulls.find(({ headSha }) => headSha === check.commit)?.head ?? '',
      ...this.#progress(check),
      runner_id: 1,
      runner_name: 'runner',
      steps: [],
      created_at: iso(check.createdAt),
      started_at: iso(check.createdAt),
      completed_at: iso(check.updatedAt),
    }
  }
}
