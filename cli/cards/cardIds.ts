import { idOf, isId } from '../context/resolve.ts'
import { Failure } from '../failures/failure.ts'

/** The id of a card as somebody named it: 12 or #12. @throws Failure (not found) */
export function cardIdOf(wanted: string): string {
  const cardId = idOf(wanted)
  if (isId(cardId)) return cardId
  throw new Failure('notFound', `there is no card "${wanted}"`, {
    hint: `a card is named by its id; its words find it: board search ${/^[\w .-]+$/.test(wanted) ? `"${wanted}"` : '"…"'}`,
    see: 'board cards list',
  })
}

/** The ids of several cards, with commas between them; may be given several times. */
export const cardIds = (text: string, before: readonly string[] = []): string[] => [
  ...new Set([...before, ...text.split(',').map(word => cardIdOf(word.trim()))]),
]
