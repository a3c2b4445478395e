import type { FieldChange } from '../contract/cards/activity.ts'
import { maxComments } from '../contract/cards/comments.ts'
import { insertActivity } from '../store/cards/activity.ts'
import { insertComment } from '../store/cards/comments.ts'
import { exportActivity, exportComments } from '../store/projects/exports.ts'
import { entriesOf } from '../store/engine/record.ts'
import { part, type Made, readByCards } from './part.ts'
import { Activity, Comment } from './activityRecords.ts'

const cardsAPage = 200
const readCommentRecords = exportComments(entriesOf(Comment))
const readActivityRecords = exportActivity(entriesOf(Activity))

/** The comments on cards. Only the author's name is kept. */
export const comments = part({
  name: 'comments',
  schema: Comment,
  maxRecords: 2_000_000,
  read: readByCards(200, readCommentRecords),
  check: ({ cardId }, known) => {
    known.find('cards', cardId, 'cardId')
    if (known.count(`comments on ${cardId}`) === maxComments + 1)
      known.addError('cardId', `must be a card with at most ${maxComments} comments`)
  },
  write: async (tx, { cardId, fromAgent, ...comment }, made) => {
    const card = made.rows.cards.get(cardId)
    if (!card) return
    await insertComment(tx, { ...comment, cardId: card.id, authorKind: fromAgent ? 'agent' : 'imported' })
  },
})

/** The activity of cards. Only the author's name is kept. */
export const activity = part({
  name: 'activity',
  schema: Activity,
  maxRecords: 10_000_000,
  read: async function* (db, scope) {
    for (const { cardIds } of scope.projects)
      for (let from = 0; from < cardIds.length; from += cardsAPage)
        for (let rows, after = 0; rows === undefined || rows.length > 0; after = rows.at(-1)?.id ?? after) {
          rows = await readActivityRecords(db, cardIds.slice(from, from + cardsAPage), after)
          yield rows.map(({ json }) => json)
        }
  },
  check: ({ cardId }, known) => void known.find('cards', cardId, 'cardId'),
  write: async (tx, { cardId, at, actorKind, actorName, action, changes }, made) => {
    const card = made.rows.cards.get(cardId)
    if (!card) return
    const actor = { kind: actorKind, id: null, name: actorName }
    const here = changes.map(change => withCardsOf(made, change))
    insertActivity(tx, { cardId: card.id, at, actor, action, changes: JSON.stringify(here) })
  },
})

/** Maps cards that a change names to their IDs here. Omits cards that are not in the file. */
function withCardsOf(made: Made, { field, from, to }: FieldChange): FieldChange {
  const rowOf = (id: unknown) => {
    const row = made.rows.cards.get(Number(id))
    return row === undefined ? [] : [String(row.id)]
  }
  const here = (value: FieldChange['from']) =>
    Array.isArray(value) ? value.flatMap(rowOf) : value === null ? null : (rowOf(value)[0] ?? null)
  return cardFields.includes(field) ? { field, from: here(from), to: here(to) } : { field, from, to }
}
const cardFields = ['parentId', 'discoveredFromId', 'baseCardId', 'blockedBy']
