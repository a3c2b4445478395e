import type { Key } from '../terminal/keys.ts'
import { boardOf, withCursor } from './board.ts'
import { helpRows } from './helpRows.ts'
import { perform } from './actions.ts'
import { inPick } from './pickKeys.ts'
import { withNotice, updated, type Dialog, type Model, type Update } from './model.ts'
import { emptyField, textIn, typeInto, type TextField } from './textField.ts'

type Of<Kind extends Dialog['kind']> = Extract<Dialog, { kind: Kind }>

/** What a key does while the person is asked something. */
export function updateDialog(model: Model, dialog: Dialog, key: Key): Update {
  if (key.name === 'escape' || key.name === 'ctrl+c') return dismissed(model, dialog)
  switch (dialog.kind) {
    case 'filter':
      return inFilter(model, dialog, key)
    case 'pick':
      return inPick(model, dialog, key)
    case 'help':
      return inHelp(model, dialog, key)
    case 'add':
      return inAdd(model, dialog, key)
    case 'send':
      return inSend(model, dialog, key)
    case 'approve':
      return inApprove(model, dialog, key)
    case 'confirm':
      return inConfirm(model, dialog, key)
  }
}

const without = (model: Model): Model => ({ ...model, dialog: undefined })
const to = (model: Model, dialog: Dialog): Update => updated({ ...model, dialog })

/** Where no project is shown yet there is nothing to go back to. */
export function dismissed(model: Model, dialog: Dialog): Update {
  if (dialog.kind === 'pick' && dialog.purpose.type === 'project' && dialog.purpose.isFirst)
    return updated(model, { type: 'quit' })
  if (dialog.kind === 'filter') return updated({ ...without(model), view: { ...model.view, filter: dialog.before } })
  if (dialog.kind === 'approve')
    return dialog.feedback ? to(model, { ...dialog, feedback: undefined }) : updated(back(model, dialog))
  return updated(without(model))
}

function inFilter(model: Model, dialog: Of<'filter'>, key: Key): Update {
  if (key.name === 'enter') return updated(without(model))
  const field = typeInto(dialog.field, key)
  if (!field) return updated(model)
  const filter = textIn(field).trim()
  const found = { ...model, dialog: { ...dialog, field }, view: { ...model.view, filter } }
  const board = boardOf(found)
  // The cursor goes where something is found.
  const focused = board.columns.find(({ id }) => id === model.view.focus)
  const other =
    focused && focused.found.length === 0 ? board.columns.find(column => column.found.length > 0) : undefined
  return updated(other ? { ...found, view: withCursor(found.view, other, 0) } : found)
}

function inHelp(model: Model, dialog: Of<'help'>, key: Key): Update {
  if (key.name === 'enter') return updated(without(model))
  const maxTop = helpRows(model, textIn(dialog.field)).length - 1
  const step = { down: 1, up: -1, pagedown: 10, pageup: -10 }[key.name]
  if (step !== undefined) return to(model, { ...dialog, top: Math.max(0, Math.min(dialog.top + step, maxTop)) })
  const field = typeInto(dialog.field, key)
  return field ? to(model, { ...dialog, field, top: 0 }) : updated(model)
}

/** First the title, then the prompt, which may stay empty or be written in the editor. */
function inAdd(model: Model, dialog: Of<'add'>, key: Key): Update {
  const title = textIn(dialog.title).trim()
  const prompt = textIn(dialog.prompt ?? emptyField)
  if (key.name === 'enter' && title === '') return updated(without(model))
  if (key.name === 'enter' && !dialog.prompt) return to(model, { ...dialog, prompt: emptyField })
  const card = { columnId: dialog.columnId, title, prompt }
  if (key.name === 'enter') return updated(without(model), { type: 'create', ...card })
  if (key.name === 'ctrl+e' && title !== '') return updated(without(model), { type: 'writePrompt', ...card })
  if ((key.name === 'up' || key.name === 'shift+tab') && dialog.prompt)
    return to(model, { ...dialog, prompt: undefined })
  if ((key.name === 'down' || key.name === 'tab') && !dialog.prompt && title !== '')
    return to(model, { ...dialog, prompt: emptyField })
  const field = typeInto(dialog.prompt ?? dialog.title, key)
  return field ? to(model, dialog.prompt ? { ...dialog, prompt: field } : { ...dialog, title: field }) : updated(model)
}

function inSend(model: Model, dialog: Of<'send'>, key: Key): Update {
  const content = textIn(dialog.field).trim()
  if (key.name === 'enter')
    return content === ''
      ? updated(without(model))
      : updated(without(model), { type: 'send', cardId: dialog.cardId, content })
  const field = typeInto(dialog.field, key)
  return field ? to(model, { ...dialog, field }) : updated(model)
}

/** Where the question was asked from. */
const back = (model: Model, { returns }: Of<'approve'>): Model => ({
  ...without(model),
  opened: returns ? undefined : model.opened,
})

function inApprove(model: Model, dialog: Of<'approve'>, key: Key): Update {
  const { cardId, requestId, feedback } = dialog
  if (requestId === undefined) return updated(model)
  if (feedback) return inFeedback(model, dialog, feedback, requestId, key)
  if (['y', 'a', 'enter'].includes(key.name))
    return updated(withNotice(back(model, dialog), `Approved what the agent of card ${cardId} asked.`), {
      type: 'approve',
      cardId,
      requestId,
      approved: true,
    })
  if (key.name === 'n')
    return updated(withNotice(back(model, dialog), `Refused what the agent of card ${cardId} asked.`), {
      type: 'approve',
      cardId,
      requestId,
      approved: false,
    })
  return key.name === 'f' ? to(model, { ...dialog, feedback: emptyField }) : updated(model)
}

function inFeedback(model: Model, dialog: Of<'approve'>, feedback: TextField, requestId: string, key: Key): Update {
  const text = textIn(feedback).trim()
  if (key.name === 'enter')
    return updated(withNotice(back(model, dialog), `Refused what the agent of card ${dialog.cardId} asked.`), {
      type: 'approve',
      cardId: dialog.cardId,
      requestId,
      approved: false,
      ...(text !== '' && { feedback: text }),
    })
  const field = typeInto(feedback, key)
  return field ? to(model, { ...dialog, feedback: field }) : updated(model)
}

function inConfirm(model: Model, { action }: Of<'confirm'>, key: Key): Update {
  if (key.name === 'y' || key.name === 'enter') return perform(without(model), action)
  return key.name === 'n' ? updated(without(model)) : updated(model)
}
