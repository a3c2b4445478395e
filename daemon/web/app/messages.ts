import { reasonOf } from './reasons.ts'
import { Store } from './store.ts'

/** A short message at the edge, with what may be done about it. */
interface Toast {
  id: number
  text: string
  isFailure: boolean
  action?: { label: string; run: () => void }
}

export const toasts = new Store<readonly Toast[]>([])
/** What screen readers say next. */
export const liveText = new Store('')
const shownMs = 7000
let lastId = 0

/** Tells screen readers something that is seen on the screen anyway. */
export function announce(text: string): void {
  // The same text again is news only when it differs.
  liveText.set(liveText.get() === text ? `${text} ` : text)
}

/** Says that something was done, perhaps with a way to undo it. */
export const showMessage = (text: string, action?: Toast['action']): void => add({ text, isFailure: false, action })

/** Says why something was not done. It stays until it is closed. */
export const showError = (error: unknown): void => add({ text: reasonOf(error), isFailure: true })

function add(toast: Omit<Toast, 'id'>): void {
  const id = ++lastId
  toasts.update(shown => [...shown.filter(({ text }) => text !== toast.text).slice(-3), { id, ...toast }])
  if (!toast.isFailure) setTimeout(() => dismiss(id), shownMs)
}

export const dismiss = (id: number): void => toasts.update(shown => shown.filter(toast => toast.id !== id))
