/** The selector of dialogs and menus, which open above the page and keep their keys. */
export const layers = '[role=dialog], [role=alertdialog], [role=menu], [role=listbox]'

/** The parts of the page that receive the focus of a removed element. */
const parts = 'section, aside, main, .panel, .opened-head'
/** Elements that manage the focus: a board moves it to the neighbour of a removed card, and a message returns it. */
const managesFocus = 'main.board, .toasts'

/** The focused element and its ancestors, with the element that had the focus before each dialog. */
export type FocusPath = readonly Element[]
/** The focused path when a dialog or menu was opened. */
const returnPaths = new WeakMap<Element, FocusPath>()

export const pathOf = (element: Element | null): FocusPath =>
  element === null ? [] : [element, ...(returnPaths.get(element) ?? pathOf(element.parentElement))]

/** Restores the focus: to the first element of the path that is still connected and focusable. */
export function restoreFocus(path: FocusPath): void {
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

/** Sets where the focus returns when a dialog closes, including dialogs that open above it. */
export const setReturnPath = (dialog: Element | null, path: FocusPath): void =>
  void (dialog && returnPaths.set(dialog, path))

/** Remembers the focused element. @returns a function that restores the focus */
export function rememberFocus(): () => void {
  const path = pathOf(document.activeElement)
  return () => restoreFocus(path)
}

/** Moves the focus of a removed element to the part around it. Otherwise, Tab would start at the top of the page. */
export function keepFocus(): void {
  let path: FocusPath = []
  document.addEventListener('focusin', ({ target }) => (path = pathOf(target as Element)))
  document.addEventListener('focusout', () =>
    // A removed element is disconnected by then. If it is still connected, the user moved the focus.
    queueMicrotask(() => {
      if (document.activeElement === document.body && path[0]?.isConnected) path = []
    }),
  )
  new MutationObserver(() => {
    if (document.activeElement !== document.body || path.length === 0 || path[0]!.isConnected) return
    const lost = path
    path = []
    if (!lost.some(each => each.matches(managesFocus))) restoreFocus(lost)
  }).observe(document.body, { childList: true, subtree: true })
}
