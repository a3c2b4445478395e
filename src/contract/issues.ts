import * as v from 'valibot'
import { Count, Id, limit, queryInteger, Time } from './fields.ts'
import { IssueState } from './issueRecords.ts'
import { ofProject } from './notFound.ts'
import { get, member, post, viewer } from './route.ts'

/** An issue on the forge that is a card. */
export const CardIssue = v.object({
  id: Id,
  number: Count,
  url: v.string(),
  title: v.string(),
  state: IssueState,
  cardId: Id,
  /** Why the forge does not take what it was told of it; it is told again. */
  problem: v.nullable(v.string()),
})
/** How a project's issues and cards follow each other. */
const SyncState = v.object({
  /** Issues with this label become cards. Null: none do. */
  label: v.nullable(v.string()),
  comments: v.boolean(),
  /** When the forge was asked last what is new, and answered. */
  syncedAt: v.nullable(Time),
  /** When it is asked again. */
  nextAt: v.nullable(Time),
  /** Why it could not be asked. */
  problem: v.nullable(v.string()),
})
const Synced = v.object({
  /** Issues that became cards. */
  imported: Count,
  /** Cards that were changed because their issues were. */
  updated: Count,
  /** Issues that were closed and reopened because of their cards. */
  closed: Count,
  reopened: Count,
  /** Comments that were added, changed or deleted on cards, and on issues. */
  received: Count,
  sent: Count,
  /** Issues with which something failed. */
  failed: Count,
})

export const issues = {
  list: get('/api/projects/{projectId}/forge/issues', {
    notFound: ofProject,
    who: viewer('cards.read'),
    summary: "List a project's cards that are issues on its forge, oldest first, and tell when it was last asked",
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
    summary: 'Bring the issues of the forge and their cards together now',
    output: Synced,
    emits: ['card.created', 'card.updated', 'card.moved', 'card.completed', 'comment.created'],
  }),
}
