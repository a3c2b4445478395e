import { Store } from './store.ts'

/** The number of cards in the person's inbox, over all projects. The window title shows it. */
export const waitingCount = new Store(0)
