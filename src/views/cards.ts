import type { InferOutput } from 'valibot'
import type { Assignee } from '../contract/cards/cardPlan.ts'
import { CallersCard, CardDetail, type DeletedCard, type Pipeline } from '../contract/cards/cardRecords.ts'
import { events, type EventData } from '../contract/server/events.ts'
import { ExternalCard } from '../contract/server/external.ts'
import { activeStatuses, cardFields } from '../store/cards/cardFields.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { DeletedCardRow } from '../store/cards/deletedCards.ts'
import { viewOf } from './view.ts'

export interface Step {
  columnId: number
  columnName: string
  prompt: string
  approval: 'auto' | 'manual'
}

export const hasActiveAgent = (card: Pick<CardRow, 'status'>): boolean => activeStatuses.includes(card.status)

const detailOf = (card: CardRow) => ({
  hasActiveAgent: hasActiveAgent(card),
  worktreePath: card.worktreeManaged === 1 ? null : card.worktreePath,
  children: { total: card.childrenTotal, done: card.childrenDone },
  watcherIds: watchingOf(card).watching.map(String),
  blockedBy: idsOf(card.blockedBy).map(String),
  blocks: idsOf(card.blocks).map(String),
  locks: locksOf(card),
  sessions: sessionsOf(card).map(session => ({ ...session, id: String(session.id) })),
})

/** A whole card, for internal routes and events. The path of a worktree that the board created is not shown. */
export const cardDetail: (card: CardRow) => InferOutput<typeof CardDetail> = viewOf(
  cardFields,
  CardDetail,
  'text',
  detailOf,
)

/**
 * A card whose caller field has a default, which `cardFor` replaces. Adding the field later would change the view's hidden class
 * and cost 5 µs.
 */
const callersCard: (card: CardRow) => InferOutput<typeof CallersCard> = viewOf(
  cardFields,
  CallersCard,
  'text',
  (card: CardRow) => Object.assign(detailOf(card), { watching: false }),
)

/** A whole card as one account sees it. */
export const cardFor =
  ({ userId }: { userId: number }) =>
  (card: CardRow): InferOutput<typeof CallersCard> => {
    const view = callersCard(card)
    view.watching = watchingOf(card).watching.includes(userId)
    return view
  }

type Moved = EventData<'card.moved'>
/** A card with empty places, which `cardMoved` fills in. Adding the fields later would cost 15 µs (see `callersCard`). */
const movedCard: (card: CardRow) => Moved = viewOf(cardFields, events['card.moved'].data, 'text', (card: CardRow) =>
  Object.assign(detailOf(card), { from: nowhere, to: nowhere }),
)
const nowhere: Moved['from'] = { columnId: '', position: null }

/** A whole card in the event of its move. */
export function cardMoved(card: CardRow, from: Moved['from'], to: Moved['to']): Moved {
  const view = movedCard(card)
  view.from = from
  view.to = to
  return view
}

/** A deleted card in the list of those that can be restored. */
export const deletedCard = ({
  id,
  boardId,
  columnId,
  ...card
}: DeletedCardRow & { restorableUntil: string }): InferOutput<typeof DeletedCard> => ({
  id: String(id),
  boardId: String(boardId),
  columnId: String(columnId),
  ...card,
})

/** The accounts that a card is assigned to. */
export const assigneeIdsOf = ({ assignees }: Pick<CardRow, 'assignees'>): number[] =>
  assignees === '[]'
    ? []
    : (JSON.parse(assignees) as Assignee[]).flatMap(each => ('userId' in each ? [Number(each.userId)] : []))

/** The accounts that watch a card, and those that opted out. */
export interface Watching {
  watching: readonly number[]
  muting: readonly number[]
}

/** The creator and the assignees of a card watch it, unless they opted out. Others can opt in. */
export function watchingOf(card: Pick<CardRow, 'assignees' | 'creatorId' | 'watchChoices'>): Watching {
  const watching = new Set([...(card.creatorId === null ? [] : [card.creatorId]), ...assigneeIdsOf(card)])
  const choices = card.watchChoices === '{}' ? {} : (JSON.parse(card.watchChoices) as Record<string, boolean>)
  const muting = Object.keys(choices).flatMap(id => (choices[id] ? [] : [Number(id)]))
  for (const id of Object.keys(choices)) if (choices[id]) watching.add(Number(id))
  for (const id of muting) watching.delete(id)
  return { watching: [...watching], muting }
}

/** A whole card, for external routes: integer IDs, and no path of the server. */
export const externalCard: (card: CardRow) => InferOutput<typeof ExternalCard> = viewOf(
  cardFields,
  ExternalCard,
  'integer',
  (card: CardRow) => ({
    assignees: (JSON.parse(card.assignees) as Assignee[]).map(each =>
      'userId' in each ? { ...each, userId: Number(each.userId) } : each,
    ),
    blockedBy: idsOf(card.blockedBy),
    locks: locksOf(card),
    sessions: sessionsOf(card),
  }),
)

type External = InferOutput<typeof ExternalCard>
const idsOf = (ids = '[]') => JSON.parse(ids) as number[]
const locksOf = ({ locks = '[]' }: CardRow) => JSON.parse(locks) as External['locks']
const sessionsOf = ({ sessions = '[]' }: CardRow) => JSON.parse(sessions) as External['sessions']

export const pipeline = (steps: readonly Step[]): InferOutput<typeof Pipeline> => ({
  steps: steps.map(step => ({ ...step, columnId: String(step.columnId) })),
})
