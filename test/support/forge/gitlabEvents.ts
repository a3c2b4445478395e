import { noCommit } from './bareRepository.ts'
import type { ForgeState } from './forgeState.ts'
import type { GitLabRecords } from './gitlabRecords.ts'
import type { Change, Issue, Pull } from './model.ts'
import type { Wire } from './wire.ts'

const pullActions = { opened: 'open', closed: 'close', merged: 'merge', reopened: 'reopen' } as Record<string, string>
const issueActions = { opened: 'open', closed: 'close', reopened: 'reopen' } as Record<string, string>

/** GitLab's webhook events for a change. */
export function gitLabEvents(state: ForgeState, records: GitLabRecords): Wire['event'] {
  const pullOf = (wanted: number) => state.pulls.find(({ number }) => number === wanted)!
  const pullFields = (pull: Pull) => {
    const {
      id,
      iid,
      title,
      description,
      state: said,
      created_at,
      updated_at,
      source_branch,
      target_branch,
      draft,
      merge_status,
      detailed_merge_status,
      web_url,
      source_project_id,
      target_project_id,
      merge_commit_sha,
    } = records.pull(pull)
    const last_commit = { id: pull.headSha, url: `${records.page}/-/commit/${pull.headSha}` }
    return {
      id,
      iid,
      title,
      description,
      state: said,
      created_at,
      updated_at,
      source_branch,
      target_branch,
      draft,
      merge_status,
      detailed_merge_status,
      url: web_url,
      source_project_id,
      target_project_id,
      merge_commit_sha,
      last_commit,
    }
  }
  const issueFields = (issue: Issue) => {
    const { id, iid, title, description, state: said, created_at, updated_at, web_url } = records.issue(issue)
    return {
      id,
      iid,
      title,
      description,
      state: said,
      created_at,
      updated_at,
      url: web_url,
      labels: issue.labels.map(name => ({ title: name })),
    }
  }
  const ofPull = (pull: Pull, more: object): [string, object] => [
    'Merge Request Hook',
    {
      object_kind: 'merge_request',
      event_type: 'merge_request',
      object_attributes: { ...pullFields(pull), ...more },
      labels: pull.labels.map(name => ({ title: name })),
      changes: {},
    },
  ]
  const bodyOf = (change: Change): [string, object] | undefined => {
    switch (change.kind) {
      case 'pull': {
        const { action, pull, before } = change
        return ofPull(pull, {
          action: pullActions[action] ?? 'update',
          ...(action === 'synchronize' && { oldrev: before }),
        })
      }
      case 'review': {
        const { number, state: said } = change.review
        return said === 'approved'
          ? ofPull(pullOf(number), { action: 'approved' })
          : ofPull(pullOf(number), { action: 'update' })
      }
      case 'issue': {
        const { action, issue } = change
        return [
          'Issue Hook',
          {
            object_kind: 'issue',
            event_type: 'issue',
            object_attributes: { ...issueFields(issue), action: issueActions[action] ?? 'update' },
            labels: issue.labels.map(name => ({ title: name })),
            changes: {},
          },
        ]
      }
      case 'comment': {
        const { comment, action } = change
        // GitLab sends no event for a deleted comment.
        if (action === 'deleted') return undefined
        const on = comment.onPull
          ? { merge_request: pullFields(pullOf(comment.number)) }
          : { issue: issueFields(state.issues.find(({ number }) => number === comment.number)!) }
        return ['Note Hook', note(comment, comment.onPull, action === 'created' ? 'create' : 'update', on)]
      }
      case 'line': {
        const { comment } = change
        const { position } = records.lineNote(comment)
        const body = note(comment, true, 'create', { merge_request: pullFields(pullOf(comment.number)) })
        return [
          'Note Hook',
          {
            ...body,
            object_attributes: { ...body.object_attributes, type: 'DiffNote', position, discussion_id: comment.thread },
          },
        ]
      }
      case 'check': {
        const { check } = change
        if (check.kind === 'status') return undefined
        const { id, name, status, pipeline, stage } = records.job(check)
        return [
          'Job Hook',
          {
            object_kind: 'build',
            ref: pipeline.ref,
            tag: false,
            sha: check.commit,
            build_id: id,
            build_name: name,
            build_stage: stage,
            build_status: status,
            pipeline_id: pipeline.id,
            project_id: 1,
          },
        ]
      }
      case 'push': {
        const { branch, before, after, actor } = change
        return [
          'Push Hook',
          {
            object_kind: 'push',
            event_name: 'push',
            before,
            after,
            ref: `refs/heads/${branch}`,
            checkout_sha: after === noCommit ? null : after,
            user_username: actor,
            project_id: 1,
            commits: [],
            total_commits_count: 0,
          },
        ]
      }
    }
  }
  const note = (
    { id, body, createdAt }: { id: number; body: string; createdAt: number },
    onPull: boolean,
    action: string,
    on: object,
  ) => ({
    object_kind: 'note',
    event_type: 'note',
    project_id: 1,
    object_attributes: {
      id,
      note: body,
      noteable_type: onPull ? 'MergeRequest' : 'Issue',
      action,
      system: false,
      created_at: new Date(createdAt).toISOString(),
    },
    ...on,
  })
  return change => {
    const told = bodyOf(change)
    if (!told) return undefined
    const { id, name, web_url, path_with_namespace, default_branch, http_url_to_repo } = records.project()
    const project = { id, name, web_url, path_with_namespace, default_branch, git_http_url: http_url_to_repo }
    const { id: userId, username } = records.user(change.actor)
    return { name: told[0], body: { ...told[1], user: { id: userId, username, name: username }, project } }
  }
}
