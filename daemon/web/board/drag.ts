import { countStarts, placesAtTop } from '../../../src/boardModel/changes.ts'
import { Store } from '../app/store.ts'
import type { BoardSession } from './boardSession.ts'

/** Cards that are dragged, and before which card of a column they would be dropped. */
export interface Drag {
  session: BoardSession
  cardIds: readonly string[]
  over?: { columnId: string; at: number }
}
export const drag = new Store<Drag | undefined>(undefined)

/** What knows how browsers drag, as soon as it is there: a board is drawn before. */
export const dragging = new Store<typeof import('./dragging.ts') | undefined>(undefined)

/** Loads it. */
export async function loadDragging(): Promise<void> {
  if (!dragging.get()) dragging.set(await import('./dragging.ts'))
}

/** How many agents start when the dragged cards are dropped in a column. */
export function startsIn({ session, cardIds }: Drag, columnId: string): number {
  return countStarts(
    session.state.get(),
    placesAtTop(
      cardIds.map(id => ({ id })),
      { id: columnId },
    ),
  )
}
