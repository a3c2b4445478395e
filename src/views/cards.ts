import type { InferOutput } from 'valibot'
import type { Assignee } from '../contract/cardPlan.ts'
import { CallersCard, CardDetail, type DeletedCard, type Pipeline } from '../contract/cardRecords.ts'
import { events, type EventData } from '../contract/events.ts'
import { ExternalCard } from '../contract/external.ts'
import { activeStatuses, cardFields } from '../store/cardFields.ts'
import type { CardRow } from '../store/cards.ts'
import type { DeletedCardRow } from '../store/deletedCards.ts'
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

/** A card whole, for internal routes and events. The path of a worktree that the board made stays with the server. */
export const cardDetail: (card: CardRow) => InferOutput<typeof CardDetail> = viewOf(
  cardFields,
  CardDetail,
  'text',
  detailOf,
)

/** Nobody's card, in which `cardFor` says whose it is: a field more would cost the view its hidden class, and 5 µs. */
const callersCard: (card: CardRow) => InferOutput<typeof CallersCard> = viewOf(
  cardFields,
  CallersCard,
  'text',
  (card: CardRow) => Object.assign(detailOf(card), { watching: false }),
)

/** A card whole as one account gets it. */
export const cardFor =
  ({ userId }: { userId: number }) =>
  (card: CardRow): InferOutput<typeof CallersCard> => {
    const view = callersCard(card)
    view.watching = watchingOf(card).watching.includes(userId)
    return view
  }

type Moved = EventData<'card.moved'>
/** A card that has not moved, in which `cardMoved` says from where to where: as `callersCard`, at 15 µs. */
const movedCard: (card: CardRow) => Moved = viewOf(cardFields, events['card.moved'].data, 'text', (card: CardRow) =>
  Object.assign(detailOf(card), { from: nowhere, to: nowhere }),
)
const nowhere: Moved['from'] = { columnId: '', position: null }

/** A card whole in the event of its move. */
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

/** Which accounts watch a card, and which said that they do not. */
export interface Watching {
  watching: readonly number[]
  muting: readonly number[]
}

/** Who made a card and those whom it is assigned to watch it, unless they said otherwise; so does who said so. */
export function watchingOf(card: Pick<CardRow, 'assignees' | 'creatorId' | 'watchChoices'>): Watching {
  const watching = new Set([...(card.creatorId === null ? [] : [card.creatorId]), ...assigneeIdsOf(card)])
  const choices = card.watchChoices === '{}' ? {} : (JSON.parse(card.watchChoices) as Record<string, boolean>)
  const muting = Object.keys(choices).flatMap(id => (choices[id] ? [] : [Number(id)]))
  for (const id of Object.keys(choices)) if (choices[id]) watching.add(Number(id))
  for (const id of muting) watching.delete(id)
  return { watching: [...watching], muting }
}

/** A card whole, for external routes: integer ids, and no path of the server's. */
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
