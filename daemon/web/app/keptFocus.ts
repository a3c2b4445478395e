/** Parts of the page from which a person goes on by Tab. */
const parts = 'section, aside, main, .panel, .opened-head'
/** A board gives the focus to the neighbour of a card that is gone, a message to what had it before. */
const keptByItself = 'main.board, .toasts'

/** What has the focus, what is around it, and what had it before a dialog around it was opened. */
type Path = readonly Element[]
/** What had the focus when a dialog was opened. */
const before = new WeakMap<Element, Path>()

const pathOf = (element: Element | null): Path =>
  element === null ? [] : [element, ...(before.get(element) ?? pathOf(element.parentElement))]

/** Gives the focus to the first of a path that is still there and takes it. */
function focusOn(path: Path): void {
  for (const each of path) {
    if (!(each instanceof HTMLElement) || !each.isConnected) continue
    if (each.matches(parts) && !each.hasAttribute('tabindex')) {
      each.tabIndex = -1
      each.dataset['keptFocus'] = ''
    }
    each.focus({ preventScroll: each !== path[0] })
    if (document.activeElement === each) return
  }
}

/**
 * Remembers what has the focus, or had it.
 * @param dialog - what is opened above that
 * @returns gives it back, or to the part of the page around it where it is gone
 */
export function rememberFocus(element: Element | null = document.activeElement, dialog?: Element): () => void {
  const path = pathOf(element)
  if (dialog) before.set(dialog, path)
  return () => focusOn(path)
}

/** Where what has the focus is taken away, the part of the page around it gets it: otherwise Tab would begin at the top again. */
export function keepFocus(): void {
  let path: Path = []
  document.addEventListener('focusin', ({ target }) => (path = pathOf(target as Element)))
  document.addEventListener('focusout', () =>
    // By then what was taken away is away: what is still there was left by the person.
    queueMicrotask(() => {
      if (document.activeElement === document.body && path[0]?.isConnected) path = []
    }),
  )
  new MutationObserver(() => {
    if (document.activeElement !== document.body || path.length === 0 || path[0]!.isConnected) return
    const lost = path
    path = []
    if (!lost.some(each => each.matches(keptByItself))) focusOn(lost)
  }).observe(document.body, { childList: true, subtree: true })
}
