import { Toast } from '@base-ui/react/toast'
import { Unreachable } from '../../../src/client/failures.ts'
import { reasonOf } from './reasons.ts'
import { Store } from './store.ts'

/** The short messages at the edge of the page. */
export const messages = Toast.createToastManager()
/** The next announcement for screen readers. */
export const liveText = new Store('')

/** Announces to screen readers a change that is visible on the screen. */
export function announce(text: string): void {
  // Screen readers announce a repeated text only if it differs.
  liveText.set(liveText.get() === text ? `${text} ` : text)
}

/** A button in a message, such as undo. */
interface MessageAction {
  label: string
  run: () => void
}

/**
 * Shows a completed action, with an optional action such as undo.
 * @param id - the subject: the message replaces an earlier one about it, and `dismiss` closes it
 */
export function showMessage(text: string, action?: MessageAction, id = text): void {
  messages.add({ id, description: text, actionProps: buttonOf(id, action) })
}

const buttonOf = (id: string, action: MessageAction | undefined) =>
  action && {
    children: action.label,
    onClick: () => {
      messages.close(id)
      action.run()
    },
  }

/** The shown errors of requests that the server did not answer. */
const unanswered = new Set<string>()

/** Shows an error until the person closes it, goes to another page, or its cause ends. @param id - as for `showMessage` */
export function showError(error: unknown, id = reasonOf(error), action?: MessageAction): void {
  if (error instanceof Unreachable) unanswered.add(id)
  messages.add({ id, description: reasonOf(error), type: 'failure', timeout: 0, actionProps: buttonOf(id, action) })
}

/** Closes the message about a subject. */
export const dismiss = (id: string): void => messages.close(id)

/** Closes the errors that an answering server ends. */
export function dismissUnanswered(): void {
  unanswered.forEach(dismiss)
  unanswered.clear()
}
