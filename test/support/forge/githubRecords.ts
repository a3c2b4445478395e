import type { ForgeState } from './forgeState.ts'
import type { Check, Comment, Issue, LineComment, Pull, Review } from './model.ts'
import { iso, isoOrNull, type Place } from './wire.ts'

export const nodeId = (kind: string, id: number) => Buffer.from(`${kind}:${id}`).toString('base64')
const none = { '+1': 0, '-1': 0, laugh: 0, confused: 0, heart: 0, hooray: 0, eyes: 0, rocket: 0 }

/** Records in GitHub's format: the fields that are always present in its description of the API (version 2022-11-28). */
export class GitHubRecords {
  readonly state: ForgeState
  readonly place: Place

  constructor(state: ForgeState, place: Place) {
    this.state = state
    this.place = place
  }

  get api(): string {
    return `${this.place.url}/api/v3`
  }
  get repo(): string {
    return `${this.api}/repos/${this.place.owner}/${this.place.name}`
  }
  get page(): string {
    return `${this.place.url}/${this.place.owner}/${this.place.name}`
  }

  user(login: string) {
    const { id } = this.state.account(login)
    const url = `${this.api}/users/${login}`
    return {
      login,
      id,
      node_id: nodeId('User', id),
      avatar_url: `${this.place.url}/avatars/u/${id}`,
      gravatar_id: '',
      url,
      html_url: `${this.place.url}/${login}`,
      followers_url: `${url}/followers`,
      following_url: `${url}/following{/other_user}`,
      gists_url: `${url}/gists{/gist_id}`,
      starred_url: `${url}/starred{/owner}{/repo}`,
      subscriptions_url: `${url}/subscriptions`,
      organizations_url: `${url}/orgs`,
      repos_url: `${url}/repos`,
      events_url: `${url}/events{/privacy}`,
      received_events_url: `${url}/received_events`,
      type: login.endsWith('[bot]') ? 'Bot' : 'User',
      site_admin: false,
    }
  }

  repository() {
    const { owner, name, url } = this.place
    const links =
      'archive assignees blobs branches collaborators comments commits compare contents contributors deployments downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels languages merges milestones notifications pulls releases stargazers statuses subscribers subscription tags teams trees'.split(
        ' ',
      )
    const since = iso(0)
    const counts = ['forks', 'forks_count', 'size', 'stargazers_count', 'watchers', 'watchers_count', 'network_count']
    const open = [...this.state.issues, ...this.state.pulls].filter(({ state }) => state === 'open').length
    return {
      id: 1,
      node_id: nodeId('Repository', 1),
      name,
      full_name: `${owner}/${name}`,
      private: true,
      owner: this.user(owner),
      html_url: this.page,
      description: null,
      fork: false,
      url: this.repo,
      ...Object.fromEntries(links.map(each => [`${each}_url`, `${this.repo}/${each.replace(/^git_/, 'git/')}`])),
      git_url: `git://${new URL(url).host}/${owner}/${name}.git`,
      ssh_url: `git@${new URL(url).hostname}:${owner}/${name}.git`,
      clone_url: `${this.page}.git`,
      svn_url: this.page,
      homepage: null,
      language: null,
      mirror_url: null,
      license: null,
      ...Object.fromEntries(counts.map(each => [each, 0])),
      subscribers_count: 0,
      open_issues: open,
      open_issues_count: open,
      has_issues: true,
      has_projects: false,
      has_wiki: false,
      has_pages: false,
      has_discussions: false,
      archived: false,
      disabled: false,
      visibility: 'private',
      default_branch: this.state.repository.defaultBranch,
      permissions: { admin: false, maintain: false, push: true, triage: true, pull: true },
      allow_merge_commit: this.state.mergeMethods.merge,
      allow_squash_merge: this.state.mergeMethods.squash,
      allow_rebase_merge: this.state.mergeMethods.rebase,
      allow_auto_merge: false,
      delete_branch_on_merge: this.state.deleteMergedBranches,
      pushed_at: since,
      created_at: since,
      updated_at: since,
    }
  }

  label(name: string) {
    const { id, color, description } = this.state.labels.get(name)!
    const url = `${this.repo}/labels/${encodeURIComponent(name)}`
    return { id, node_id: nodeId('Label', id), url, name, color, default: false, description }
  }

  #side(ref: string, sha: string) {
    const repo = this.repository()
    return { label: `${this.place.owner}:${ref}`, ref, sha, user: repo.owner, repo }
  }

  pullSimple(pull: Pull) {
    const url = `${this.repo}/pulls/${pull.number}`
    const issue = `${this.repo}/issues/${pull.number}`
    const html = `${this.page}/pull/${pull.number}`
    const links = {
      comments: `${issue}/comments`,
      commits: `${url}/commits`,
      review_comment: `${this.repo}/pulls/comments{/number}`,
      review_comments: `${url}/comments`,
      statuses: `${this.repo}/statuses/${pull.headSha}`,
    }
    return {
      url,
      id: pull.id,
      node_id: nodeId('PullRequest', pull.id),
      html_url: html,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
      issue_url: issue,
      ...Object.fromEntries(Object.entries(links).map(([name, href]) => [`${name}_url`, href])),
      number: pull.number,
      state: pull.state === 'open' ? 'open' : 'closed',
      locked: false,
      title: pull.title,
      user: this.user(pull.author),
      body: pull.body === '' ? null : pull.body,
      labels: pull.labels.map(name => this.label(name)),
      milestone: null,
      created_at: iso(pull.createdAt),
      updated_at: iso(pull.updatedAt),
      closed_at: isoOrNull(pull.closedAt),
      merged_at: pull.state === 'merged' ? isoOrNull(pull.closedAt) : null,
      merge_commit_sha: pull.mergeCommit,
      assignee: null,
      assignees: [],
      requested_reviewers: pull.reviewers.map(login => this.user(login)),
      requested_teams: [],
      head: this.#side(pull.head, pull.headSha),
      base: this.#side(pull.base, pull.baseSha),
      _links: Object.fromEntries(
        Object.entries({ self: url, html, issue, ...links }).map(([name, href]) => [name, { href }]),
      ),
      author_association: 'COLLABORATOR',
      auto_merge:
        pull.autoMerge === null
          ? null
          : {
              enabled_by: this.user(pull.author),
              merge_method: pull.autoMerge,
              commit_title: null,
              commit_message: null,
            },
      draft: pull.draft,
    }
  }

  pull(pull: Pull) {
    const files = this.state.repository.files(pull.baseSha, pull.headSha)
    const sum = (name: 'additions' | 'deletions') => files.reduce((total, file) => total + file[name], 0)
    return {
      ...this.pullSimple(pull),
      merged: pull.state === 'merged',
      ...this.#mergeable(pull),
      rebaseable: null,
      merged_by: pull.mergedBy === null ? null : this.user(pull.mergedBy),
      comments: this.state.comments.filter(({ number }) => number === pull.number).length,
      review_comments: this.state.lineComments.filter(({ number }) => number === pull.number).length,
      maintainer_can_modify: false,
      commits: this.state.repository.commits(pull.baseSha, pull.headSha).length,
      additions: sum('additions'),
      deletions: sum('deletions'),
      changed_files: files.length,
    }
  }

  #mergeable(pull: Pull): { mergeable: boolean | null; mergeable_state: string } {
    const obstacle = this.state.obstacle(pull)
    if (obstacle === 'closed' || obstacle === 'unknown') return { mergeable: null, mergeable_state: 'unknown' }
    if (obstacle === 'conflict') return { mergeable: false, mergeable_state: 'dirty' }
    const checks = this.state.latestChecks(pull.headSha)
    const isUnstable = checks.some(({ state }) => state !== 'success' && state !== 'skipped')
    const states = { draft: 'draft' } as Record<string, string>
    const state = obstacle ? (states[obstacle] ?? 'blocked') : isUnstable ? 'unstable' : 'clean'
    return { mergeable: true, mergeable_state: state }
  }

  issue(issue: Issue | Pull) {
    const url = `${this.repo}/issues/${issue.number}`
    const isPull = 'head' in issue
    const html = `${this.page}/${isPull ? 'pull' : 'issues'}/${issue.number}`
    return {
      url,
      repository_url: this.repo,
      labels_url: `${url}/labels{/name}`,
      comments_url: `${url}/comments`,
      events_url: `${url}/events`,
      html_url: html,
      id: issue.id,
      node_id: nodeId('Issue', issue.id),
      number: issue.number,
      title: issue.title,
      user: this.user(issue.author),
      labels: issue.labels.map(name => this.label(name)),
      state: issue.state === 'open' ? 'open' : 'closed',
      state_reason: isPull ? null : issue.reason,
      locked: false,
      assignee: null,
      assignees: [],
      milestone: null,
      comments: this.state.comments.filter(({ number }) => number === issue.number).length,
      created_at: iso(issue.createdAt),
      updated_at: iso(issue.updatedAt),
      closed_at: isoOrNull(issue.closedAt),
      author_association: 'COLLABORATOR',
      active_lock_reason: null,
      body: issue.body === '' ? null : issue.body,
      reactions: { url: `${url}/reactions`, total_count: 0, ...none },
      ...(isPull
        ? {
            draft: issue.draft,
            pull_request: {
              url: `${this.repo}/pulls/${issue.number}`,
              html_url: html,
              diff_url: `${html}.diff`,
              patch_url: `${html}.patch`,
              merged_at: issue.state === 'merged' ? isoOrNull(issue.closedAt) : null,
            },
          }
        : {}),
    }
  }

  comment(comment: Comment) {
    const url = `${this.repo}/issues/comments/${comment.id}`
    return {
      url,
      html_url: `${this.page}/${comment.onPull ? 'pull' : 'issues'}/${comment.number}#issuecomment-${comment.id}`,
      issue_url: `${this.repo}/issues/${comment.number}`,
      id: comment.id,
      node_id: nodeId('IssueComment', comment.id),
      user: this.user(comment.author),
      created_at: iso(comment.createdAt),
      updated_at: iso(comment.updatedAt),
      author_association: 'COLLABORATOR',
      body: comment.body,
      reactions: { url: `${url}/reactions`, total_count: 0, ...none },
    }
  }

  review(review: Review) {
    const pull = `${this.repo}/pulls/${review.number}`
    const html = `${this.page}/pull/${review.number}#pullrequestreview-${review.id}`
    return {
      id: review.id,
      node_id: nodeId('PullRequestReview', review.id),
      user: this.user(review.author),
      body: review.body,
      state: review.state.toUpperCase(),
      html_url: html,
      pull_request_url: pull,
      author_association: this.state.outsiders.has(review.author) ? 'NONE' : 'COLLABORATOR',
      _links: { html: { href: html }, pull_request: { href: pull } },
      submitted_at: iso(review.submittedAt),
      commit_id: review.commit,
    }
  }

  lineComment(comment: LineComment) {
    const url = `${this.repo}/pulls/comments/${comment.id}`
    const pull = `${this.repo}/pulls/${comment.number}`
    const html = `${this.page}/pull/${comment.number}#discussion_r${comment.id}`
    const isCurrent = this.state.isCurrent(comment)
    const text = this.state.repository.line(comment.commit, comment.path, comment.line) ?? ''
    return {
      url,
      pull_request_review_id: comment.reviewId,
      id: comment.id,
      node_id: nodeId('PullRequestReviewComment', comment.id),
      diff_hunk: `@@ -0,0 +${comment.line},1 @@\n+${text}`,
      path: comment.path,
      commit_id: isCurrent ? this.state.pulls.find(({ number }) => number === comment.number)!.headSha : comment.commit,
      original_commit_id: comment.commit,
      user: this.user(comment.author),
      body: comment.body,
      created_at: iso(comment.createdAt),
      updated_at: iso(comment.updatedAt),
      html_url: html,
      pull_request_url: pull,
      author_association: 'COLLABORATOR',
      _links: { self: { href: url }, html: { href: html }, pull_request: { href: pull } },
      reactions: { url: `${url}/reactions`, total_count: 0, ...none },
      start_line: isCurrent ? comment.startLine : null,
      original_start_line: comment.startLine,
      start_side: comment.startLine === null ? null : comment.side,
      line: isCurrent ? comment.line : null,
      original_line: comment.line,
      side: comment.side,
      position: isCurrent ? 1 : null,
      original_position: 1,
      subject_type: 'line',
      ...(comment.inReplyTo === null ? {} : { in_reply_to_id: comment.inReplyTo }),
    }
  }

  #checkState({ state }: Check): { status: string; conclusion: string | null } {
    if (state === 'queued') return { status: 'queued', conclusion: null }
    return state === 'running'
      ? { status: 'in_progress', conclusion: null }
      : { status: 'completed', conclusion: state }
  }

  checkRun(check: Check) {
    const ended = check.state !== 'queued' && check.state !== 'running'
    const html = check.url ?? `${this.page}/actions/runs/${check.runId}/job/${check.id}`
    const owner = this.user('github')
    return {
      id: check.id,
      name: check.name,
      node_id: nodeId('CheckRun', check.id),
      head_sha: check.commit,
      external_id: '',
      url: `${this.repo}/check-runs/${check.id}`,
      html_url: html,
      details_url: html,
      ...this.#checkState(check),
      started_at: iso(check.createdAt),
      completed_at: ended ? iso(check.updatedAt) : null,
      output: {
        title: check.description,
        summary: null,
        text: null,
        annotations_count: 0,
        annotations_url: `${this.repo}/check-runs/${check.id}/annotations`,
      },
      check_suite: { id: check.runId },
      app: {
        id: 15368,
        slug: 'github-actions',
        node_id: nodeId('App', 15368),
        owner,
        name: 'GitHub Actions',
        description: null,
        external_url: `${this.place.url}/features/actions`,
        html_url: `${this.place.url}/apps/github-actions`,
        created_at: iso(0),
        updated_at: iso(0),
        permissions: { checks: 'write' },
        events: [],
      },
      pull_requests: [],
    }
  }

  job(check: Check) {
    const url = `${this.repo}/actions/jobs/${check.id}`
    return {
      id: check.id,
      run_id: check.runId,
      run_url: `${this.repo}/actions/runs/${check.runId}`,
      run_attempt: 1,
      node_id: nodeId('Job', check.id),
      head_sha: check.commit,
      head_branch: this.state.pulls.find(({ headSha }) => headSha === check.commit)?.head ?? null,
      workflow_name: 'CI',
      url,
      html_url: `${this.page}/actions/runs/${check.runId}/job/${check.id}`,
      ...this.#checkState(check),
      created_at: iso(check.createdAt),
      started_at: iso(check.createdAt),
      completed_at: ['queued', 'running'].includes(check.state) ? null : iso(check.updatedAt),
      name: check.name,
      steps: [],
      check_run_url: `${this.repo}/check-runs/${check.id}`,
      labels: ['ubuntu-latest'],
      runner_id: 1,
      runner_name: 'runner',
      runner_group_id: 1,
      runner_group_name: 'Default',
    }
  }

  status(check: Check) {
    const states = {
      queued: 'pending',
      running: 'pending',
      success: 'success',
      skipped: 'success',
      failure: 'failure',
    } as Record<string, string>
    const creator = this.user('ci')
    return {
      url: `${this.repo}/statuses/${check.commit}`,
      avatar_url: creator.avatar_url,
      id: check.id,
      node_id: nodeId('StatusContext', check.id),
      state: states[check.state] ?? 'error',
      description: check.description,
      target_url: check.url,
      context: check.name,
      created_at: iso(check.createdAt),
      updated_at: iso(check.updatedAt),
      creator,
    }
  }
}
