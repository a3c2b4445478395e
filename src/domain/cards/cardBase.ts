import { invalid, Problem } from '../../contract/errors.ts'
import type { CardRow } from '../../store/cards/cards.ts'
import type { Reader } from '../../store/engine/database.ts'
import { requireCards } from './dependencies.ts'

/** The start of a card's branch: a branch, tag or commit, or the branch of a card. At most one of them is not null. */
export interface CardBase {
  base?: string | null
  baseCardId?: number | null
}
type BasedCard = Pick<CardRow, 'projectId'> & Partial<Pick<CardRow, 'id' | 'worktreeManaged' | 'gitBranch'>>

/**
 * The fields that a change of a card's base sets. Setting one clears the other. A card that is being created has no ID yet.
 * @throws Problem CARD_NOT_FOUND, VALIDATION_FAILED, CONFLICT once the card has its branch
 */
export async function changedBase(db: Reader, card: BasedCard, change: CardBase): Promise<CardBase> {
  const { base, baseCardId } = change
  if (base === undefined && baseCardId === undefined) return {}
  if (base && baseCardId) throw invalid('baseCardId', 'cannot be combined with base')
  if (card.worktreeManaged === 1 && card.gitBranch)
    throw new Problem('CONFLICT', `The card already has the branch ${card.gitBranch}, so its base cannot change.`)
  if (baseCardId) await requireCards(db, card, [baseCardId])
  if (baseCardId && baseCardId === card.id) throw invalid('baseCardId', 'must be another card')
  return {
    ...(base !== undefined && { base }),
    ...(baseCardId !== undefined && { baseCardId }),
    ...(base && { baseCardId: null }),
    ...(baseCardId && { base: null }),
  }
}
