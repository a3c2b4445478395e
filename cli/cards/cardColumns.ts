import { planFieldNames, planFields } from '../../src/contract/cards/planFields.ts'
import { mergedWords } from '../../src/boardModel/mergedWords.ts'
import { assigneeNames } from '../../src/boardModel/plan.ts'
import { pullRequestWords } from '../../src/boardModel/pullRequests.ts'
import type { Card } from './cardApi.ts'
import type { Column } from '../output/output.ts'

const basicColumns: Column<Card>[] = [
  { name: 'id', style: 'id', align: 'right', value: card => card.id },
  { name: 'title', style: 'title', value: card => card.title },
  { name: 'columnName', header: 'COLUMN', value: card => card.columnName },
  { name: 'status', style: 'status', value: card => card.status },
  { name: 'labels', style: 'text', value: card => card.labels },
  { name: 'updatedAt', header: 'UPDATED', style: 'time', value: card => card.updatedAt },
]

const mergeColumn: Column<Card> = { name: 'mergedInto', header: 'MERGE', optional: true, value: mergedWords }

/** The fields of a card in lists. */
export const cardColumns: Column<Card>[] = [...basicColumns, mergeColumn]

/**
 * The card fields for lists of assignments and dates. A fixed choice, because scripts find columns by their position.
 */
export const planColumns: Column<Card>[] = [
  ...basicColumns,
  { name: 'priority', value: card => card.priority },
  { name: 'dueAt', header: 'DUE', style: 'time', value: card => card.dueAt },
  { name: 'assignees', style: 'text', value: assigneeNames },
  mergeColumn,
]

/** Describes the last review of a card. Returns undefined if there was none. */
export function reviewWords({
  reviewState,
  reviewRound,
}: Partial<Pick<Card, 'reviewState' | 'reviewRound'>>): string | undefined {
  if (!reviewState) return undefined
  const words = { pending: 'awaits a review', changes_requested: 'changes requested', approved: 'approved' }[
    reviewState
  ]
  return reviewRound ? `${words} (round ${reviewRound})` : words
}

const idsOrNone = (ids: readonly (string | number)[] = []): string | undefined => ids.join(', ') || undefined

/** The fields of a card on its own. */
export const cardFields: Column<Card>[] = [
  { name: 'id', style: 'id', value: card => card.id },
  { name: 'title', style: 'title', value: card => card.title },
  { name: 'columnName', header: 'Column', value: card => card.columnName },
  { name: 'position', value: card => card.position },
  { name: 'status', style: 'status', value: card => card.status },
  { name: 'statusReason', value: card => card.statusReason },
  { name: 'labels', value: card => card.labels },
  ...planFieldNames.map((name): Column<Card> => {
    const { label, kind } = planFields[name]
    return {
      name,
      header: label,
      style: kind === 'day' || kind === 'time' ? 'time' : undefined,
      value: card => card[name],
    }
  }),
  { name: 'assignees', value: assigneeNames },
  { name: 'watching', hidden: true, value: card => card.watching },
  { name: 'reviewState', header: 'Review', value: reviewWords },
  { name: 'reviewRound', hidden: true, value: card => card.reviewRound },
  { name: 'mergedInto', header: 'Merge', value: mergedWords },
  { name: 'mergedAt', header: 'Merged', style: 'time', value: card => card.mergedAt },
  { name: 'mergedCommit', header: 'Merge commit', value: card => card.mergedCommit },
  { name: 'issue', style: 'text', value: ({ issue }) => issue && `#${issue.number} (${issue.state}): ${issue.url}` },
  {
    name: 'source',
    style: 'text',
    value: ({ source }) => source && `${source.kind} ${source.url ?? source.id}`,
  },
  {
    name: 'pullRequest',
    header: 'Pull request',
    style: 'text',
    value: ({ pullRequest }) =>
      pullRequest && [pullRequestWords(pullRequest), pullRequest.url].filter(Boolean).join(': '),
  },
  { name: 'blocked', value: card => card.blocked || undefined },
  { name: 'ready', hidden: true, value: card => card.ready },
  { name: 'blockedBy', header: 'Waits for', value: ({ blockedBy }) => idsOrNone(blockedBy) },
  { name: 'blocks', value: ({ blocks }) => idsOrNone(blocks) },
  { name: 'parentId', header: 'Part of', value: card => card.parentId },
  {
    name: 'children',
    header: 'Parts',
    value: ({ children }) => (children?.total ? `${children.done} of ${children.total} done` : undefined),
  },
  { name: 'discoveredFromId', header: 'Found on', value: card => card.discoveredFromId },
  { name: 'groupId', header: 'Group', value: card => card.groupId },
  { name: 'unread', value: card => card.unread },
  { name: 'deferred', value: card => card.deferred },
  { name: 'autoMode', value: card => card.autoMode },
  { name: 'useWorktree', value: card => card.useWorktree },
  { name: 'agent', value: card => card.agent },
  { name: 'profile', value: card => card.profile },
  { name: 'model', value: card => card.model },
  { name: 'mode', value: card => card.mode },
  { name: 'effort', value: card => card.effort },
  { name: 'command', value: card => card.command },
  { name: 'base', value: card => card.base },
  { name: 'baseCardId', header: 'Base card', value: card => card.baseCardId },
  { name: 'gitBranch', value: card => card.gitBranch },
  { name: 'worktreePath', header: 'Worktree', value: card => card.worktreePath },
  {
    name: 'lastAgentAction',
    header: 'Last action',
    value: card => card.lastAgentAction && (card.lastAgentAction.detail ?? card.lastAgentAction.type),
  },
  { name: 'attachmentCount', header: 'Attachments', value: card => card.attachmentCount },
  { name: 'commentCount', header: 'Comments', value: card => card.commentCount },
  { name: 'monitorQuestions', header: 'Monitor questions', value: card => card.monitorQuestions || undefined },
  { name: 'creatorName', header: 'Creator', value: card => card.creatorName },
  { name: 'createdAt', header: 'Created', style: 'time', value: card => card.createdAt },
  { name: 'updatedAt', header: 'Updated', style: 'time', value: card => card.updatedAt },
  { name: 'archivedAt', header: 'Archived', style: 'time', value: card => card.archivedAt },
]

/** The brief card fields that commands print after they create or change a card. */
export const cardBrief: Column<Card>[] = cardFields.filter(({ name }) =>
  ['id', 'title', 'columnName', 'status'].includes(name),
)
