import { ForgeFailed } from '../forge/forge.ts'
import { bySystem, insertAuditRow } from '../store/server/audit.ts'
import {
  insertIssueComment,
  updateCardIssue,
  updateIssueComment,
  type CardIssueRow,
} from '../store/cards/cardIssues.ts'
import { readCard } from '../store/cards/cards.ts'
import type { Transaction } from '../store/engine/database.ts'
import type { CommentAction } from './comments.ts'
import { showIssue } from './showIssue.ts'
import { digestOf } from './texts.ts'
import type { IssueDependencies, IssueSync } from './issueDependencies.ts'

/** An update of an issue for the forge. `explain`: the reason why it is closed. */
export type Action = CommentAction | { kind: 'explain'; body: string } | { kind: 'close' } | { kind: 'reopen' }

/**
 * Sends updates to the forge, one after another, and records each. If the forge refuses an update, such as a comment on a locked issue, the
 * others are still sent. A temporary failure of the whole forge ends the sequence.
 * @throws ForgeFailed the first failure
 */
export async function performActions(
  dependencies: IssueDependencies,
  sync: IssueSync,
  issue: CardIssueRow,
  actions: readonly Action[],
): Promise<void> {
  let failure: ForgeFailed | undefined
  for (const action of actions)
    try {
      const record = await sendToForge(sync, issue, action)
      await dependencies.db.transaction(record, sync.actor)
    } catch (error) {
      if (!(error instanceof ForgeFailed) || isForAll(error)) throw error
      failure ??= error
    }
  if (failure) throw failure
}

/** Whether a failure currently affects the whole forge. */
export const isForAll = ({ reason }: ForgeFailed): boolean => reason === 'unreachable' || reason === 'limited'

type Record = (tx: Transaction) => Promise<void>

/** Sends an update to the forge. @returns the changes to record */
async function sendToForge({ forge, tally }: IssueSync, issue: CardIssueRow, action: Action): Promise<Record> {
  const { number } = issue
  switch (action.kind) {
    case 'comment': {
      const { id: forgeId } = await forge.commentOnIssue(number, action.body)
      tally.sent++
      return async tx => updateIssueComment(tx, action.id, { forgeId })
    }
    case 'editComment':
      await unlessGone(forge.editIssueComment(number, action.forgeId, action.body))
      tally.sent++
      return async tx => updateIssueComment(tx, action.id, { digest: action.digest })
    case 'deleteComment':
      await unlessGone(forge.deleteIssueComment(number, action.forgeId))
      tally.sent++
      return async tx => updateIssueComment(tx, action.id, { gone: true })
    case 'explain': {
      const { id: forgeId } = await forge.commentOnIssue(number, action.body)
      const comment = { issueId: issue.id, forgeId, writtenAt: 'board', digest: digestOf(action.body) } as const
      return async tx => void (await insertIssueComment(tx, comment))
    }
    case 'close':
      await forge.closeIssue(number)
      tally.closed++
      return tx => recordState(tx, issue, 'closed')
    case 'reopen':
      await forge.reopenIssue(number)
      tally.reopened++
      return tx => recordState(tx, issue, 'open')
  }
}

/** An object that no longer exists on the forge needs no change. */
const unlessGone = (asked: Promise<unknown>): Promise<unknown> =>
  asked.catch((error: unknown) => {
    if (!(error instanceof ForgeFailed) || error.reason !== 'missing') throw error
  })

async function recordState(tx: Transaction, issue: CardIssueRow, state: 'open' | 'closed'): Promise<void> {
  const { id, cardId, projectId, number, url } = issue
  updateCardIssue(tx, id, { phase: state === 'closed' ? 'closedByBoard' : 'open' })
  const card = cardId === null ? undefined : await readCard(tx, projectId, cardId)
  if (card) await showIssue(tx, card, { number, url, state })
  const action = state === 'closed' ? 'issues.close' : 'issues.reopen'
  insertAuditRow(tx, bySystem(action, { kind: 'card', id: cardId! }, `issue ${number}`))
}
