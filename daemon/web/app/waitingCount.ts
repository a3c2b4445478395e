import { Store } from './store.ts'

/** How many cards wait for the person, over all projects. The window's title says it. */
export const waitingCount = new Store(0)
