import * as v from 'valibot'
import { integer, IntegerId, text } from '../contract/fields.ts'
import { IssueState } from '../contract/forges/issueRecords.ts'
import { exportIssues, insertCardIssue, readCardIssue, showCardIssue } from '../store/cards/cardIssues.ts'
import { readCard } from '../store/cards/cards.ts'
import { part, readByCards } from './part.ts'
import { Address, Time } from './records.ts'

/** The issue that a card was created from. `forge` identifies the repository. */
const Issue = v.strictObject({
  cardId: IntegerId,
  forge: text(1, 2048),
  number: integer(1, Number.MAX_SAFE_INTEGER),
  url: Address,
  title: text(0, 500),
  promptDigest: text(0, 64),
  state: IssueState,
  changedAt: Time,
  closedByBoard: v.optional(v.boolean(), false),
})

/** The issues of cards, so that they do not become other cards in a project with the same forge. */
export const issues = part({
  name: 'issues',
  schema: Issue,
  maxRecords: 500_000,
  read: readByCards(500, exportIssues),
  check: ({ cardId }, known) => {
    known.find('cards', cardId, 'cardId')
    if (known.count(`issues of ${cardId}`) === 2) known.addError('cardId', 'must be a card without another issue')
  },
  write: async (tx, { cardId, state, closedByBoard, ...issue }, made) => {
    const place = made.rows.cards.get(cardId)
    const card = place && (await readCard(tx, place.projectId, place.id))
    // In an existing project, the issue might already be a card.
    if (!card || (await readCardIssue(tx, card.projectId, issue.forge, issue.number))) return
    // Imported changes are not sent to the forge: the imported state counts as synchronized, and only later changes are sent.
    await insertCardIssue(tx, {
      ...issue,
      phase: state !== 'closed' ? state : closedByBoard ? 'closedByBoard' : 'closedElsewhere',
      projectId: card.projectId,
      cardId: card.id,
      done: card.doneAt !== null,
      commentsFrom: tx.now,
      passesComments: true,
    })
    showCardIssue(tx, card.id, { ...issue, state })
  },
})
