/** The parts of the page that receive the focus of a removed element. */
const parts = 'section, aside, main, .panel, .opened-head'
/** Elements that manage the focus: a board moves it to the neighbour of a removed card, and a message returns it. */
const keptByItself = 'main.board, .toasts'

/** The focused element and its ancestors, with the element that had the focus before each dialog. */
type Path = readonly Element[]
/** The focused path when a dialog was opened. */
const before = new WeakMap<Element, Path>()

const pathOf = (element: Element | null): Path =>
  element === null ? [] : [element, ...(before.get(element) ?? pathOf(element.parentElement))]

/** Focuses the first element of a path that is still connected and focusable. */
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
 * Remembers the focused element. @param dialog - the dialog that opens above the element @returns a function that
 * restores the focus, or focuses the surrounding part if the element was removed
 */
export function rememberFocus(element: Element | null = document.activeElement, dialog?: Element): () => void {
  const path = pathOf(element)
  if (dialog) before.set(dialog, path)
  return () => focusOn(path)
}

/** Moves the focus of a removed element to the part around it. Otherwise, Tab would start at the top of the page. */
export function keepFocus(): void {
  let path: Path = []
  document.addEventListener('focusin', ({ target }) => (path = pathOf(target as Element)))
  document.addEventListener('focusout', () =>
    // By then, removed elements are disconnected: for connected ones, the person moved the focus.
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
