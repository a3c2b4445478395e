import * as v from 'valibot'
import { Count, Id, limit, queryInteger, Time } from '../fields.ts'
import { IssueState } from './issueRecords.ts'
import { ofProject } from '../notFound.ts'
import { get, member, post, viewer } from '../route.ts'

/** An issue on the forge that has a card. */
export const CardIssue = v.object({
  id: Id,
  number: Count,
  url: v.string(),
  title: v.string(),
  state: IssueState,
  cardId: Id,
  /** The error of the last update to the forge, which is retried. */
  problem: v.nullable(v.string()),
})
/** The synchronization state of a project's issues and cards. */
const SyncState = v.object({
  /** Issues with this label become cards. Null: none do. */
  label: v.nullable(v.string()),
  comments: v.boolean(),
  /** When the forge last answered a query for changes. */
  syncedAt: v.nullable(Time),
  /** When the forge is queried next. */
  nextAt: v.nullable(Time),
  /** Why the forge could not be queried. */
  problem: v.nullable(v.string()),
})
const Synced = v.object({
  /** Issues that became cards. */
  imported: Count,
  /** Cards that were changed because their issues changed. */
  updated: Count,
  /** Issues that were closed and reopened because of their cards. */
  closed: Count,
  reopened: Count,
  /** Comments that were added, changed or deleted on cards, and on issues. */
  received: Count,
  sent: Count,
  /** Issues for which an operation failed. */
  failed: Count,
})

export const issues = {
  list: get('/api/projects/{projectId}/forge/issues', {
    notFound: ofProject,
    who: viewer('cards.read'),
    summary: "List the issues that are linked to a project's cards, oldest first, with the state of the sync",
    input: v.strictObject({ limit: limit(50, 100), cursor: v.optional(queryInteger(1)) }),
    output: v.object({ sync: SyncState, items: v.array(CardIssue), nextCursor: v.nullable(Id) }),
  }),
  sync: post('/api/projects/{projectId}/forge/issues/sync', {
    fails: [
      'FORGE_NOT_CONFIGURED',
      'FORGE_REFUSED',
      'FORGE_UNAVAILABLE',
      'NOT_A_GIT_REPOSITORY',
      'SEALED_WITH_OTHER_KEY',
      'COLUMN_NOT_FOUND',
    ],
    notFound: ofProject,
    audited: { target: 'project', detail: ['imported', 'closed', 'reopened', 'sent'] },
    at: 'machine',
    takesLong: true,
    who: member('cards.update'),
    summary: 'Sync issues with their cards now',
    output: Synced,
    emits: ['card.created', 'card.updated', 'card.moved', 'card.completed', 'comment.created'],
  }),
}
