import type { InferOutput } from 'valibot'
import { CardDetail, type Pipeline } from '../contract/cardRecords.ts'
import { ExternalCard } from '../contract/external.ts'
import { activeStatuses, cardFields } from '../store/cardFields.ts'
import type { CardRow } from '../store/cards.ts'
import { viewOf } from './view.ts'

export interface Step {
  columnId: number
  columnName: string
  prompt: string
  approval: 'auto' | 'manual'
}

export const hasActiveAgent = (card: Pick<CardRow, 'status'>): boolean => activeStatuses.includes(card.status)

/** A card whole, for internal routes and events. The path of a worktree that the board made stays with the server. */
export const cardDetail: (card: CardRow) => InferOutput<typeof CardDetail> = viewOf(
  cardFields,
  CardDetail,
  'text',
  (card: CardRow) => ({
    hasActiveAgent: hasActiveAgent(card),
    worktreePath: card.worktreeManaged === 1 ? null : card.worktreePath,
    children: { total: card.childrenTotal, done: card.childrenDone },
    blockedBy: idsOf(card.blockedBy).map(String),
    blocks: idsOf(card.blocks).map(String),
    locks: locksOf(card),
    sessions: sessionsOf(card).map(session => ({ ...session, id: String(session.id) })),
  }),
)

/** A card whole, for external routes: integer ids, and no path of the server's. */
export const externalCard: (card: CardRow) => InferOutput<typeof ExternalCard> = viewOf(
  cardFields,
  ExternalCard,
  'integer',
  (card: CardRow) => ({ blockedBy: idsOf(card.blockedBy), locks: locksOf(card), sessions: sessionsOf(card) }),
)

type External = InferOutput<typeof ExternalCard>
const idsOf = (ids = '[]') => JSON.parse(ids) as number[]
const locksOf = ({ locks = '[]' }: CardRow) => JSON.parse(locks) as External['locks']
const sessionsOf = ({ sessions = '[]' }: CardRow) => JSON.parse(sessions) as External['sessions']

export const pipeline = (steps: readonly Step[]): InferOutput<typeof Pipeline> => ({
  steps: steps.map(step => ({ ...step, columnId: String(step.columnId) })),
})
