import { reasonOf } from './reasons.ts'
import { Store } from './store.ts'

/** A short message at the edge of the page, with an optional action. */
interface Toast {
  id: number
  text: string
  isFailure: boolean
  action?: { label: string; run: () => void }
}

export const toasts = new Store<readonly Toast[]>([])
/** The next announcement for screen readers. */
export const liveText = new Store('')
const shownMs = 7000
let lastId = 0

/** Tells screen readers something that is seen on the screen anyway. */
export function announce(text: string): void {
  // Screen readers announce a repeated text only if it differs.
  liveText.set(liveText.get() === text ? `${text} ` : text)
}

/** Shows a completed action, with an optional action such as undo. */
export const showMessage = (text: string, action?: Toast['action']): void => add({ text, isFailure: false, action })

/** Shows an error until the person closes it. */
export const showError = (error: unknown): void => add({ text: reasonOf(error), isFailure: true })

function add(toast: Omit<Toast, 'id'>): void {
  const id = ++lastId
  toasts.update(shown => [...shown.filter(({ text }) => text !== toast.text).slice(-3), { id, ...toast }])
  if (!toast.isFailure) setTimeout(() => dismiss(id), shownMs)
}

export const dismiss = (id: number): void => toasts.update(shown => shown.filter(toast => toast.id !== id))
