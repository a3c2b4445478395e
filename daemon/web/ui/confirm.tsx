import { Store, useStore } from '../app/store.ts'
import type { Question } from './ConfirmDialog.tsx'
import { lazyPart } from './lazyPart.tsx'

const ConfirmDialog = lazyPart(() => import('./ConfirmDialog.tsx'), 'ConfirmDialog', { isDialog: true })

const question = new Store<Question | undefined>(undefined)

/** Asks for confirmation before an irreversible action. The dialog runs the action and shows its error. */
export const confirm = (asked: Question): void => question.set(asked)

/** Shows the question, once in the page. */
export function Confirmation() {
  const asked = useStore(question)
  if (!asked) return null
  return <ConfirmDialog key={asked.title} {...asked} onClose={() => question.set(undefined)} />
}
