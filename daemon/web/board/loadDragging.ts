import { Store } from '../app/store.ts'

/** The lazily loaded drag-and-drop module. Undefined until it loads, so that the board renders first. */
export const dragging = new Store<typeof import('./dragCards.ts') | undefined>(undefined)

/** Loads the drag-and-drop module. */
export async function loadDragging(): Promise<void> {
  if (!dragging.get()) dragging.set(await import('./dragCards.ts'))
}
