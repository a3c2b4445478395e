import type { ForgeState } from './forgeState.ts'
import type { GitHubRecords } from './githubRecords.ts'
import type { Change, LineComment, Review } from './model.ts'
import { noCommit } from './bareRepository.ts'
import type { Wire } from './wire.ts'

const pullActions = {
  merged: 'closed',
  ready: 'ready_for_review',
  draft: 'converted_to_draft',
} as Record<string, string>

/** GitHub's webhook events for a change. */
export function gitHubEvents(state: ForgeState, records: GitHubRecords): Wire['event'] {
  const pullOf = ({ number }: Review | LineComment) => state.pulls.find(each => each.number === number)!
  const bodyOf = (change: Change): [string, object] => {
    switch (change.kind) {
      case 'pull': {
        const { action, pull, before } = change
        const more = action === 'synchronize' ? { before, after: pull.headSha } : {}
        return [
          'pull_request',
          { action: pullActions[action] ?? action, number: pull.number, ...more, pull_request: records.pull(pull) },
        ]
      }
      case 'issue': {
        const { action, issue, label } = change
        return ['issues', { action, issue: records.issue(issue), ...(label && { label: records.label(label) }) }]
      }
      case 'comment': {
        const { action, comment } = change
        const issue = [...state.issues, ...state.pulls].find(({ number }) => number === comment.number)!
        return ['issue_comment', { action, issue: records.issue(issue), comment: records.comment(comment) }]
      }
      case 'review': {
        const review = records.review(change.review)
        return [
          'pull_request_review',
          {
            action: 'submitted',
            review: { ...review, state: review.state.toLowerCase() },
            pull_request: records.pullSimple(pullOf(change.review)),
          },
        ]
      }
      case 'line':
        return [
          'pull_request_review_comment',
          {
            action: 'created',
            comment: records.lineComment(change.comment),
            pull_request: records.pullSimple(pullOf(change.comment)),
          },
        ]
      case 'check': {
        const { check } = change
        if (check.kind === 'status') {
          const { id, context, description, target_url, state: said, created_at, updated_at } = records.status(check)
          const branches = state.pulls
            .filter(({ headSha }) => headSha === check.commit)
            .map(({ head }) => ({ name: head }))
          return [
            'status',
            {
              id,
              sha: check.commit,
              name: 'repository',
              context,
              description,
              target_url,
              state: said,
              branches,
              created_at,
              updated_at,
            },
          ]
        }
        const ended = check.state !== 'queued' && check.state !== 'running'
        return ['check_run', { action: ended ? 'completed' : 'created', check_run: records.checkRun(check) }]
      }
      case 'push': {
        const { branch, before, after, actor } = change
        return [
          'push',
          {
            ref: `refs/heads/${branch}`,
            before,
            after,
            created: before === noCommit,
            deleted: after === noCommit,
            forced: before !== noCommit && after !== noCommit && !state.repository.contains(after, before),
            base_ref: null,
            compare: `${records.page}/compare/${before}...${after}`,
            commits: [],
            head_commit: null,
            pusher: { name: actor },
          },
        ]
      }
    }
  }
  return change => {
    const [name, body] = bodyOf(change)
    return { name, body: { ...body, repository: records.repository(), sender: records.user(change.actor) } }
  }
}
