import { noCommit } from './bareRepository.ts'
import type { ForgeState } from './forgeState.ts'
import type { GiteaRecords } from './giteaRecords.ts'
import type { Change } from './model.ts'
import type { Wire } from './wire.ts'

const pullActions = {
  merged: 'closed',
  synchronize: 'synchronized',
  labeled: 'label_updated',
  ready: 'edited',
  draft: 'edited',
} as Record<string, string>
const reviewEvents = {
  approved: 'pull_request_approved pull_request_review_approved',
  changes_requested: 'pull_request_rejected pull_request_review_rejected',
  commented: 'pull_request_comment pull_request_review_comment',
  dismissed: 'pull_request_comment pull_request_review_comment',
} as const

/** Gitea's webhook events for a change: the name of an event, and its type if that differs. */
export function giteaEvents(state: ForgeState, records: GiteaRecords): Wire['event'] {
  const pullOf = (wanted: number) => state.pulls.find(({ number }) => number === wanted)!
  const bodyOf = (change: Change): [string, object] | undefined => {
    switch (change.kind) {
      case 'pull': {
        const { action, pull } = change
        const type = action === 'synchronize' ? ' pull_request_sync' : action === 'labeled' ? ' pull_request_label' : ''
        return [
          `pull_request${type}`,
          {
            action: pullActions[action] ?? action,
            number: pull.number,
            pull_request: records.pull(pull),
            commit_id: '',
          },
        ]
      }
      case 'review': {
        const { review } = change
        const name = reviewEvents[review.state]
        const said = { type: name.split(' ')[1], content: review.body }
        return [
          name,
          {
            action: 'reviewed',
            number: review.number,
            pull_request: records.pull(pullOf(review.number)),
            review: said,
          },
        ]
      }
      case 'issue': {
        const { action, issue } = change
        const isLabel = action === 'labeled' || action === 'unlabeled'
        return [
          `issues${isLabel ? ' issue_label' : ''}`,
          { action: isLabel ? 'label_updated' : action, number: issue.number, issue: records.issue(issue) },
        ]
      }
      case 'comment': {
        const { action, comment } = change
        const on = [...state.issues, ...state.pulls].find(({ number }) => number === comment.number)!
        return [
          `issue_comment${comment.onPull ? ' pull_request_comment' : ''}`,
          { action, issue: records.issue(on), comment: records.comment(comment), is_pull: comment.onPull },
        ]
      }
      // Comments on lines are sent with their review.
      case 'line':
        return undefined
      case 'check': {
        const { id, status, context, description, target_url, created_at, updated_at } = records.status(change.check)
        return [
          'status',
          { id, sha: change.check.commit, state: status, context, description, target_url, created_at, updated_at },
        ]
      }
      case 'push': {
        const { branch, before, after, actor } = change
        const ref = `refs/heads/${branch}`
        if (after === noCommit) return ['delete', { ref: branch, ref_type: 'branch', pusher_type: 'user' }]
        return [
          'push',
          {
            ref,
            before,
            after,
            compare_url: `${records.page}/compare/${before}...${after}`,
            commits: [],
            total_commits: 0,
            head_commit: null,
            pusher: records.user(actor),
          },
        ]
      }
    }
  }
  return change => {
    const told = bodyOf(change)
    return (
      told && {
        name: told[0],
        body: { ...told[1], repository: records.repository(), sender: records.user(change.actor) },
      }
    )
  }
}
