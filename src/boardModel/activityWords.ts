import type { ActivityAction, ActivityValue, FieldChange } from '../contract/cards/activity.ts'
import { planFieldNames, planWord } from '../contract/cards/planFields.ts'

interface ActivityEntry {
  action: ActivityAction
  changes: readonly FieldChange[]
}

/** The end of a sentence about an entry, which begins with its author: "moved it from Backlog to Done". */
export function activityWords({ action, changes }: ActivityEntry): string {
  const [first] = changes
  const [from, to] = [wordsOf(first?.from ?? null), wordsOf(first?.to ?? null)]
  if (action === 'card.created') return to ? `created it in ${to}` : 'created it'
  if (action === 'card.updated')
    return changes.length === 0 ? 'changed it' : `changed ${changes.map(changeText).join('; ')}`
  if (action === 'card.moved') return `moved it from ${from} to ${to}`
  if (action === 'card.merged') return from ? `merged ${from} into ${to}` : `merged it into ${to}`
  if (action === 'branch.pushed') return `pushed its branch to ${to}`
  if (action === 'branch.updated') return `updated ${to} with the newest commits of its base`
  if (action === 'pull_request.opened') return `opened the pull request ${to}`
  if (action === 'pull_request.merged') return `merged the pull request ${to}`
  if (action === 'pull_request.closed') return `closed the pull request ${to}`
  if (action === 'run.started') return `started ${to || 'a run'}`
  if (action === 'run.ended') return `ended the run: ${to}`
  if (action === 'attachment.created') return `attached ${to}`
  if (action === 'attachment.deleted') return `deleted the attachment ${from}`
  if (action === 'review.submitted') return `reviewed it: ${to.replaceAll('_', ' ')}`
  return plainWords[action]
}

const plainWords = {
  'card.completed': 'completed it',
  'card.archived': 'archived it',
  'card.unarchived': 'restored it from the archive',
  'card.deleted': 'deleted it',
  'card.restored': 'restored it',
  'comment.created': 'commented',
  'comment.updated': 'changed a comment',
  'comment.deleted': 'deleted a comment',
} as const satisfies Partial<Record<ActivityAction, string>>

const fieldWords: Readonly<Record<string, string>> = {
  ...Object.fromEntries(planFieldNames.map(name => [name, planWord(name)])),
  columnName: 'column',
  groupId: 'group',
  autoMode: 'auto mode',
  useWorktree: 'separate worktree',
  credentialId: 'credential',
  worktreePath: 'worktree',
  mergedInto: 'merged into',
  parentId: 'part of',
  discoveredFromId: 'found on',
  baseCardId: 'base card',
  blockedBy: 'waits for',
}

function changeText({ field, from, to }: FieldChange): string {
  const name = fieldWords[field] ?? field
  return from === null && to === null ? name : `${name}: ${wordsOf(from) || 'none'} → ${wordsOf(to) || 'none'}`
}

const wordsOf = (value: ActivityValue): string =>
  value === null
    ? ''
    : value === true
      ? 'on'
      : value === false
        ? 'off'
        : Array.isArray(value)
          ? value.join(', ')
          : String(value)
