import { idOf, isId } from '../context/resolve.ts'
import { Failure } from '../failures/failure.ts'

/** Returns the card ID for `12` or `#12`. @throws Failure (not found) */
export function cardIdOf(wanted: string): string {
  const cardId = idOf(wanted)
  if (isId(cardId)) return cardId
  throw new Failure('notFound', `there is no card "${wanted}"`, {
    hint: `use the ID of a card; to find cards by words: board search ${/^[\w .-]+$/.test(wanted) ? `"${wanted}"` : '"…"'}`,
    see: 'board cards list',
  })
}

/** Parses a comma-separated list of card IDs. The option can be repeated. */
export const cardIds = (text: string, before: readonly string[] = []): string[] => [
  ...new Set([...before, ...text.split(',').map(word => cardIdOf(word.trim()))]),
]
