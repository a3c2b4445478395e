import { createHash } from 'node:crypto'
import type { ForgeState } from './forgeState.ts'
import type { Check, Comment, Issue, LineComment, Pull, Review } from './model.ts'
import type { Place } from './wire.ts'

const time = (at: number): string => new Date(at).toISOString()
const timeOrNull = (at: number | null): string | null => (at === null ? null : time(at))
const noTime = { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null }
const jobStates = {
  queued: 'pending',
  running: 'running',
  success: 'success',
  failure: 'failed',
  cancelled: 'canceled',
  skipped: 'skipped',
} as const
/** https://docs.gitlab.com/api/merge_requests/#merge-status */
const mergeStates = {
  closed: 'not_open',
  draft: 'draft_status',
  unknown: 'checking',
  conflict: 'conflict',
  changes_requested: 'requested_changes',
  approvals: 'not_approved',
  checks_failed: 'ci_must_pass',
  checks_pending: 'ci_still_running',
} as const

export const draftTitle = /^\s*(?:draft:|\[draft\]|\(draft\))/i
/** The thread of a separate comment. */
export const threadOf = ({ id }: Comment): string => createHash('sha1').update(`${id}`).digest('hex')

/** Records in GitLab's format, with the fields in its documentation of the REST API. */
export class GitLabRecords {
  readonly state: ForgeState
  readonly place: Place

  constructor(state: ForgeState, place: Place) {
    this.state = state
    this.place = place
  }

  get page(): string {
    return `${this.place.url}/${this.place.owner}/${this.place.name}`
  }
  get api(): string {
    return `${this.place.url}/api/v4/projects/1`
  }

  user(login: string) {
    const { id } = this.state.account(login)
    return {
      id,
      username: login,
      name: login,
      state: 'active',
      locked: false,
      avatar_url: null,
      web_url: `${this.place.url}/${login}`,
    }
  }

  /** GitLab's merge method of a project. A request can be squashed before it. */
  get mergeMethod(): 'merge' | 'ff' {
    return this.state.mergeMethods.merge ? 'merge' : 'ff'
  }
  get squashOption(): 'never' | 'always' | 'default_off' {
    const { merge, squash, rebase } = this.state.mergeMethods
    return squash ? (merge || rebase ? 'default_off' : 'always') : 'never'
  }

  project() {
    const { owner, name, url } = this.place
    const full = `${owner}/${name}`
    return {
      id: 1,
      description: null,
      name,
      name_with_namespace: `${owner} / ${name}`,
      path: name,
      path_with_namespace: full,
      created_at: time(0),
      default_branch: this.state.repository.defaultBranch,
      ssh_url_to_repo: `git@${new URL(url).hostname}:${full}.git`,
      http_url_to_repo: `${this.page}.git`,
      web_url: this.page,
      visibility: 'private',
      archived: false,
      empty_repo: false,
      merge_requests_enabled: true,
      issues_enabled: true,
      jobs_enabled: true,
      merge_method: this.mergeMethod,
      squash_option: this.squashOption,
      only_allow_merge_if_pipeline_succeeds: this.state.protection.checks.length > 0,
      only_allow_merge_if_all_discussions_are_resolved: false,
      remove_source_branch_after_merge: this.state.deleteMergedBranches,
      permissions: { project_access: { access_level: 30, notification_level: 3 }, group_access: null },
      namespace: { id: 2, name: owner, path: owner, kind: 'group', full_path: owner },
    }
  }

  /** The reason why a request cannot be merged, in GitLab's term, also if the base must be fast-forwarded only. */
  mergeState(pull: Pull): string {
    const obstacle = this.state.obstacle(pull)
    if (obstacle) return mergeStates[obstacle]
    const isBehind = !this.state.repository.contains(pull.headSha, pull.baseSha)
    return this.mergeMethod === 'ff' && isBehind ? 'need_rebase' : 'mergeable'
  }

  #coarse(detailed: string): string {
    if (detailed === 'checking') return 'checking'
    return detailed === 'conflict' ? 'cannot_be_merged' : 'can_be_merged'
  }

  #references(sign: string, number: number) {
    return {
      short: `${sign}${number}`,
      relative: `${sign}${number}`,
      full: `${this.place.owner}/${this.place.name}${sign}${number}`,
    }
  }

  pull(pull: Pull) {
    const isMerged = pull.state === 'merged'
    const detailed = this.mergeState(pull)
    const checks = this.pipelines(pull)
    const merger = isMerged && pull.mergedBy !== null ? this.user(pull.mergedBy) : null
    return {
      id: pull.id,
      iid: pull.number,
      project_id: 1,
      title: pull.title,
      description: pull.body,
      state: pull.state === 'open' ? 'opened' : pull.state,
      created_at: time(pull.createdAt),
      updated_at: time(pull.updatedAt),
      merged_by: merger,
      merge_user: merger,
      merged_at: isMerged ? timeOrNull(pull.closedAt) : null,
      closed_by: null,
      closed_at: isMerged ? null : timeOrNull(pull.closedAt),
      target_branch: pull.base,
      source_branch: pull.head,
      user_notes_count: this.state.comments.filter(each => each.onPull && each.number === pull.number).length,
      upvotes: 0,
      downvotes: 0,
      author: this.user(pull.author),
      assignees: [],
      assignee: null,
      reviewers: pull.reviewers.map(login => this.user(login)),
      source_project_id: 1,
      target_project_id: 1,
      labels: pull.labels,
      draft: pull.draft,
      work_in_progress: pull.draft,
      imported: false,
      milestone: null,
      merge_when_pipeline_succeeds: pull.autoMerge !== null,
      merge_status: this.#coarse(detailed),
      detailed_merge_status: detailed,
      merge_after: null,
      sha: pull.headSha,
      merge_commit_sha: pull.mergedAs === 'merge' ? pull.mergeCommit : null,
      squash_commit_sha: pull.mergedAs === 'squash' ? pull.mergeCommit : null,
      discussion_locked: null,
      should_remove_source_branch: null,
      force_remove_source_branch: false,
      prepared_at: time(pull.createdAt),
      reference: `!${pull.number}`,
      references: this.#references('!', pull.number),
      web_url: `${this.page}/-/merge_requests/${pull.number}`,
      time_stats: noTime,
      squash: false,
      squash_on_merge: false,
      task_completion_status: { count: 0, completed_count: 0 },
      has_conflicts: detailed === 'conflict',
      blocking_discussions_resolved: true,
      approvals_before_merge: null,
      // The following fields are only in a single record.
      changes_count: `${this.state.repository.files(pull.baseSha, pull.headSha).length}`,
      subscribed: true,
      latest_build_started_at: null,
      latest_build_finished_at: null,
      first_deployed_to_production_at: null,
      pipeline: checks[0] ?? null,
      head_pipeline: checks[0] ?? null,
      diff_refs: { base_sha: pull.openedOn, head_sha: pull.headSha, start_sha: pull.openedOn },
      merge_error: null,
      first_contribution: false,
      user: { can_merge: true },
    }
  }

  issue(issue: Issue) {
    const url = `${this.page}/-/issues/${issue.number}`
    const self = `${this.api}/issues/${issue.number}`
    return {
      id: issue.id,
      iid: issue.number,
      project_id: 1,
      title: issue.title,
      description: issue.body,
      state: issue.state === 'open' ? 'opened' : 'closed',
      created_at: time(issue.createdAt),
      updated_at: time(issue.updatedAt),
      closed_at: timeOrNull(issue.closedAt),
      closed_by: null,
      labels: issue.labels,
      milestone: null,
      assignees: [],
      assignee: null,
      author: this.user(issue.author),
      type: 'ISSUE',
      issue_type: 'issue',
      user_notes_count: this.state.comments.filter(each => !each.onPull && each.number === issue.number).length,
      merge_requests_count: 0,
      upvotes: 0,
      downvotes: 0,
      due_date: null,
      confidential: false,
      discussion_locked: null,
      web_url: url,
      time_stats: noTime,
      task_completion_status: { count: 0, completed_count: 0 },
      has_tasks: false,
      task_status: '0 of 0 checklist items completed',
      _links: { self, notes: `${self}/notes`, award_emoji: `${self}/award_emoji`, project: this.api },
      references: this.#references('#', issue.number),
      moved_to_id: null,
      imported: false,
      subscribed: true,
    }
  }

  #note(
    note: { id: number; number: number; author: string; body: string; createdAt: number; updatedAt: number },
    onPull: boolean,
  ) {
    const on = (onPull ? this.state.pulls : this.state.issues).find(({ number }) => number === note.number)!
    return {
      id: note.id,
      type: null as string | null,
      body: note.body,
      attachment: null,
      author: this.user(note.author),
      created_at: time(note.createdAt),
      updated_at: time(note.updatedAt),
      system: false,
      noteable_id: on.id,
      noteable_type: onPull ? 'MergeRequest' : 'Issue',
      project_id: 1,
      noteable_iid: note.number,
      resolvable: false,
      confidential: false,
      internal: false,
      imported: false,
    }
  }

  note(comment: Comment) {
    return this.#note(comment, comment.onPull)
  }

  /** The system note that GitLab writes for a review, or undefined. */
  systemNote({ id, number, author, state, submittedAt }: Review) {
    const body = { approved: 'approved this merge request', changes_requested: 'requested changes' } as Record<
      string,
      string
    >
    if (!body[state]) return undefined
    const note = { id, number, author, body: body[state], createdAt: submittedAt, updatedAt: submittedAt }
    return { ...this.#note(note, true), system: true }
  }

  lineNote(comment: LineComment) {
    const isOld = comment.side === 'LEFT'
    const pull = this.state.pulls.find(({ number }) => number === comment.number)!
    return {
      ...this.#note(comment, true),
      type: 'DiffNote',
      commit_id: null,
      position: {
        base_sha: pull.openedOn,
        start_sha: pull.openedOn,
        head_sha: comment.commit,
        old_path: comment.path,
        new_path: comment.path,
        position_type: 'text',
        old_line: isOld ? comment.line : null,
        new_line: isOld ? null : comment.line,
        line_range: null,
      },
      resolvable: true,
      resolved: comment.resolved,
      resolved_by: comment.resolved ? this.user('ann') : null,
      resolved_at: comment.resolved ? time(comment.updatedAt) : null,
    }
  }

  discussions(pull: Pull) {
    const threads = new Map<string, LineComment[]>()
    for (const comment of this.state.lineComments.filter(({ number }) => number === pull.number))
      threads.set(comment.thread, [...(threads.get(comment.thread) ?? []), comment])
    return [
      ...this.state.comments
        .filter(each => each.onPull && each.number === pull.number)
        .map(comment => ({ id: threadOf(comment), individual_note: true, notes: [this.note(comment)] })),
      ...[...threads].map(([id, notes]) => ({
        id,
        individual_note: false,
        notes: notes.map(each => this.lineNote(each)),
      })),
    ]
  }

  /** The pipelines of a request, newest first. */
  pipelines(pull: Pull) {
    const commits = [...new Set(this.state.checks.filter(({ kind }) => kind === 'run').map(({ commit }) => commit))]
    const own = commits.filter(
      commit => commit === pull.headSha || this.state.repository.contains(pull.headSha, commit),
    )
    return own.map(commit => this.pipeline(commit, pull.head)).sort((a, b) => b.id - a.id)
  }

  pipeline(commit: string, ref: string) {
    const checks = this.state.latestChecks(commit).filter(({ kind }) => kind === 'run')
    const states = checks.map(({ state }) => jobStates[state])
    const order = ['failed', 'running', 'pending', 'canceled', 'success', 'skipped'] as const
    const id = checks[0]!.runId
    return {
      id,
      iid: id,
      project_id: 1,
      sha: commit,
      ref,
      status: order.find(state => states.includes(state))!,
      source: 'push',
      created_at: time(checks[0]!.createdAt),
      updated_at: time(Math.max(...checks.map(({ updatedAt }) => updatedAt))),
      web_url: `${this.page}/-/pipelines/${id}`,
    }
  }

  job(check: Check) {
    const pull = this.state.pulls.find(({ headSha }) => headSha === check.commit)
    const ref = pull?.head ?? this.state.repository.defaultBranch
    const hasEnded = check.state !== 'queued' && check.state !== 'running'
    return {
      id: check.id,
      status: jobStates[check.state],
      stage: 'test',
      name: check.name,
      ref,
      tag: false,
      coverage: null,
      allow_failure: false,
      created_at: time(check.createdAt),
      started_at: check.state === 'queued' ? null : time(check.createdAt),
      finished_at: hasEnded ? time(check.updatedAt) : null,
      erased_at: null,
      duration: hasEnded ? 1 : null,
      queued_duration: 0,
      user: this.user('ann'),
      commit: { id: check.commit, short_id: check.commit.slice(0, 8), title: '', created_at: time(check.createdAt) },
      pipeline: this.pipeline(check.commit, ref),
      failure_reason: check.state === 'failure' ? 'script_failure' : undefined,
      web_url: `${this.page}/-/jobs/${check.id}`,
      project: { ci_job_token_scope_enabled: false },
      artifacts: [],
      runner: null,
      artifacts_expire_at: null,
      archived: false,
      tag_list: [],
    }
  }

  status(check: Check) {
    const pull = this.state.pulls.find(({ headSha }) => headSha === check.commit)
    return {
      id: check.id,
      sha: check.commit,
      ref: pull?.head ?? this.state.repository.defaultBranch,
      status: jobStates[check.state],
      name: check.name,
      target_url: check.url ?? (check.kind === 'run' ? `${this.page}/-/jobs/${check.id}` : null),
      description: check.description,
      created_at: time(check.createdAt),
      started_at: null,
      finished_at: null,
      allow_failure: false,
      coverage: null,
      pipeline_id: check.kind === 'run' ? check.runId : null,
      author: this.user('ann'),
    }
  }

  label(name: string) {
    const { id, color, description } = this.state.labels.get(name)!
    return {
      id,
      name,
      description,
      description_html: description,
      text_color: '#FFFFFF',
      color: `#${color}`,
      archived: false,
      subscribed: false,
      priority: null,
      is_project_label: true,
    }
  }
}
