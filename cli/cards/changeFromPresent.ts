import type { Client } from '../../src/client/index.ts'
import type { CardPlace } from './cardApi.ts'

type Detail = Awaited<ReturnType<Client['cards']['get']>>
type Change = Omit<Parameters<Client['cards']['update']>[0], keyof CardPlace>

const maxAttempts = 5

/**
 * Changes a card based on its current state, for example adds labels to its labels. If another client changes the card at the same time,
 * reads it again.
 * @returns the new card, or the current one if nothing changes
 */
export async function changeFromPresent(
  { cards }: Pick<Client, 'cards'>,
  place: CardPlace,
  changeOf: (card: Detail) => Change | undefined,
): Promise<Detail> {
  for (let attempt = 1; ; attempt++) {
    const card = await cards.get(place)
    const change = changeOf(card)
    if (!change) return card
    try {
      return await cards.update({ ...place, ...change }, { ifMatch: `"${card.version}"` })
    } catch (error) {
      if (attempt === maxAttempts || (error as { code?: string }).code !== 'VERSION_CONFLICT') throw error
    }
  }
}
