import { countStarts, placesAtTop } from '../../../src/boardModel/changes.ts'
import { Store } from '../app/store.ts'
import type { BoardSession } from './boardSession.ts'

/** The dragged cards, and the card before which they would be dropped. */
export interface Drag {
  session: BoardSession
  cardIds: readonly string[]
  over?: { columnId: string; lane?: string; at: number }
}
/** The dragged column, and the column before which it would be dropped. Undefined at the end. */
export const columnDrag = new Store<{ columnId: string; before: string | undefined } | undefined>(undefined)
export const drag = new Store<Drag | undefined>(undefined)

/** The number of agents that start if the dragged cards are dropped in a column. */
export function startsIn({ session, cardIds }: Drag, columnId: string): number {
  return countStarts(
    session.state.get(),
    placesAtTop(
      cardIds.map(id => ({ id })),
      { id: columnId },
    ),
  )
}
