import { client } from '../app/session.ts'
import { Store, useStore } from '../app/store.ts'

/** The last layout of a card for a person: its tab, and its width next to the board. */
interface Layout {
  tab?: string
  width?: number
}

const saveAfterMs = 800
const layouts = new Store<Readonly<Record<string, Layout>>>({})
const reads = new Map<string, Promise<void>>()
/** The projects whose layouts have come. */
const known = new Store<ReadonlySet<string>>(new Set())
const timers = new Map<string, ReturnType<typeof setTimeout>>()

/** Reads the layouts of a project once. Without them the usual ones hold. */
export function readLayouts(projectId: string): Promise<void> {
  const before = reads.get(projectId)
  if (before) return before
  const read = client.panelStates
    .get({ projectId })
    .then(
      states => layouts.update(now => ({ ...(states as Record<string, Layout>), ...now })),
      () => undefined,
    )
    .then(() => known.update(all => new Set([...all, projectId])))
  reads.set(projectId, read)
  return read
}

/** Whether the layouts of a project are loaded. If the card were shown before, its tab could change a moment later. */
export const useIsRead = (projectId: string): boolean => useStore(known, all => all.has(projectId))

/** Records a change, and saves it on the server unless another change follows. */
export function changeLayout(projectId: string, cardId: string, change: Layout): void {
  layouts.update(now => ({ ...now, [cardId]: { ...now[cardId], ...change } }))
  clearTimeout(timers.get(cardId))
  timers.set(
    cardId,
    setTimeout(() => keepLayout(projectId, cardId), saveAfterMs),
  )
}

/** Saves a pending change of the layout immediately, for example when the card is closed. */
export function keepLayout(projectId: string, cardId: string): void {
  if (!timers.has(cardId)) return
  clearTimeout(timers.get(cardId))
  timers.delete(cardId)
  void client.panelStates.set({ projectId, [cardId]: layouts.get()[cardId] }).catch(() => undefined)
}

export const useLayout = (cardId: string): Layout | undefined => useStore(layouts, all => all[cardId])

let lastWidth: number | undefined
/** Returns the last width of the panel for this card, or otherwise for any card. */
export function useWidth(cardId: string): number | undefined {
  const own = useLayout(cardId)?.width
  const width = typeof own === 'number' && own > 0 ? own : lastWidth
  lastWidth = width
  return width
}
