import { hasSeveralAnswers } from '../../../src/contract/agents/questionOptions.ts'
import type { Key } from '../terminal/keys.ts'
import { boardOf, withCursor } from './board.ts'
import { helpRows } from './helpRows.ts'
import { perform } from './actions.ts'
import { hasBothSteps, onlyToDone } from './mergeCards.ts'
import { updatePick } from './pickKeys.ts'
import { withNotice, toUpdate, type Dialog, type Model, type Update } from './model.ts'
import { commandItems, withCommand } from './slashCommands.ts'
import { emptyField, textIn, typeInto, type TextField } from './textField.ts'

type Of<Kind extends Dialog['kind']> = Extract<Dialog, { kind: Kind }>

/** Handles a key while a dialog is open. */
export function updateDialog(model: Model, dialog: Dialog, key: Key): Update {
  if (key.name === 'escape' || key.name === 'ctrl+c') return dismissDialog(model, dialog)
  switch (dialog.kind) {
    case 'filter':
      return updateFilter(model, dialog, key)
    case 'pick':
      return updatePick(model, dialog, key)
    case 'help':
      return updateHelp(model, dialog, key)
    case 'add':
      return updateAdd(model, dialog, key)
    case 'send':
      return updateSend(model, dialog, key)
    case 'comment':
      return updateComment(model, dialog, key)
    case 'approve':
      return updateApprove(model, dialog, key)
    case 'confirm':
      return updateConfirm(model, dialog, key)
  }
}

const closeDialog = (model: Model): Model => ({ ...model, dialog: undefined })
const showDialog = (model: Model, dialog: Dialog): Update => toUpdate({ ...model, dialog })

/**
 * Closes a dialog without its action. Dismissing the initial choice of a project quits: there is no board behind it.
 */
export function dismissDialog(model: Model, dialog: Dialog): Update {
  if (dialog.kind === 'pick' && dialog.purpose.type === 'project' && dialog.purpose.isFirst)
    return toUpdate(model, { type: 'quit' })
  if (dialog.kind === 'filter')
    return toUpdate({ ...closeDialog(model), view: { ...model.view, filter: dialog.before } })
  if (dialog.kind === 'approve')
    return dialog.feedback
      ? showDialog(model, { ...dialog, feedback: undefined })
      : toUpdate(leaveApproval(model, dialog))
  return toUpdate(closeDialog(model))
}

function updateFilter(model: Model, dialog: Of<'filter'>, key: Key): Update {
  if (key.name === 'enter') return toUpdate(closeDialog(model))
  const field = typeInto(dialog.field, key)
  if (!field) return toUpdate(model)
  const filter = textIn(field).trim()
  const found = { ...model, dialog: { ...dialog, field }, view: { ...model.view, filter } }
  const board = boardOf(found)
  // An empty focused column passes the cursor to the first column with a match.
  const focused = board.columns.find(({ id }) => id === model.view.focus)
  const other =
    focused && focused.found.length === 0 ? board.columns.find(column => column.found.length > 0) : undefined
  return toUpdate(other ? { ...found, view: withCursor(found.view, other, 0) } : found)
}

function updateHelp(model: Model, dialog: Of<'help'>, key: Key): Update {
  if (key.name === 'enter') return toUpdate(closeDialog(model))
  const maxTop = helpRows(model, textIn(dialog.field)).length - 1
  const step = { down: 1, up: -1, pagedown: 10, pageup: -10 }[key.name]
  if (step !== undefined) return showDialog(model, { ...dialog, top: Math.max(0, Math.min(dialog.top + step, maxTop)) })
  const field = typeInto(dialog.field, key)
  return field ? showDialog(model, { ...dialog, field, top: 0 }) : toUpdate(model)
}

/** Asks for the title, then for the prompt, which is optional and can be written in the editor. */
function updateAdd(model: Model, dialog: Of<'add'>, key: Key): Update {
  const title = textIn(dialog.title).trim()
  const prompt = textIn(dialog.prompt ?? emptyField)
  if (key.name === 'enter' && title === '') return toUpdate(closeDialog(model))
  if (key.name === 'enter' && !dialog.prompt) return showDialog(model, { ...dialog, prompt: emptyField })
  const card = { columnId: dialog.columnId, title, prompt }
  if (key.name === 'enter') return toUpdate(closeDialog(model), { type: 'create', ...card })
  if (key.name === 'ctrl+e' && title !== '') return toUpdate(closeDialog(model), { type: 'writePrompt', ...card })
  if ((key.name === 'up' || key.name === 'shift+tab') && dialog.prompt)
    return showDialog(model, { ...dialog, prompt: undefined })
  if ((key.name === 'down' || key.name === 'tab') && !dialog.prompt && title !== '')
    return showDialog(model, { ...dialog, prompt: emptyField })
  const field = typeInto(dialog.prompt ?? dialog.title, key)
  return field
    ? showDialog(model, dialog.prompt ? { ...dialog, prompt: field } : { ...dialog, title: field })
    : toUpdate(model)
}

function updateSend(model: Model, dialog: Of<'send'>, key: Key): Update {
  const content = textIn(dialog.field).trim()
  if (key.name === 'enter')
    return content === ''
      ? toUpdate(closeDialog(model))
      : toUpdate(closeDialog(model), { type: 'send', cardId: dialog.cardId, content })
  if (key.name === 'tab') return showDialog(model, withCommand(dialog))
  const step = { down: 1, up: -1 }[key.name]
  if (step !== undefined) {
    const at = Math.max(0, Math.min(dialog.at + step, commandItems(dialog).length - 1))
    return showDialog(model, { ...dialog, at })
  }
  const field = typeInto(dialog.field, key)
  return field ? showDialog(model, { ...dialog, field, at: 0 }) : toUpdate(model)
}

function updateComment(model: Model, dialog: Of<'comment'>, key: Key): Update {
  const { cardId } = dialog
  const content = textIn(dialog.field).trim()
  if (key.name === 'enter')
    return content === ''
      ? toUpdate(closeDialog(model))
      : toUpdate(closeDialog(model), { type: 'comment', cardId, content })
  if (key.name === 'ctrl+e') return toUpdate(closeDialog(model), { type: 'writeComment', cardId, content })
  const field = typeInto(dialog.field, key)
  return field ? showDialog(model, { ...dialog, field }) : toUpdate(model)
}

/** Closes an approval and returns to the card or the board that opened it. */
const leaveApproval = (model: Model, { returns }: Of<'approve'>): Model => ({
  ...closeDialog(model),
  opened: returns ? undefined : model.opened,
})

function updateApprove(model: Model, dialog: Of<'approve'>, key: Key): Update {
  const { cardId, requestId, feedback } = dialog
  if (requestId === undefined) return toUpdate(model)
  if (feedback) return updateFeedback(model, dialog, feedback, requestId, key)
  if (dialog.takesText && ['f', 'enter'].includes(key.name))
    return showDialog(model, { ...dialog, feedback: emptyField })
  if (dialog.takesText && key.name === 'y') return toUpdate(model)
  if (key.name === 'y' && hasSeveralAnswers(dialog.options))
    return toUpdate(withNotice(model, `Choose an answer: 1 to ${dialog.options.length}.`))
  if (key.name === 'y')
    return toUpdate(withNotice(leaveApproval(model, dialog), `Approved the request of the agent of card ${cardId}.`), {
      type: 'approve',
      cardId,
      requestId,
      approved: true,
    })
  if (key.name === 'n')
    return toUpdate(withNotice(leaveApproval(model, dialog), `Rejected the request of the agent of card ${cardId}.`), {
      type: 'approve',
      cardId,
      requestId,
      approved: false,
    })
  const option = /^[1-9]$/.test(key.name) ? dialog.options[Number(key.name) - 1] : undefined
  if (option)
    return toUpdate(withNotice(leaveApproval(model, dialog), `Answered the agent of card ${cardId}: ${option.name}.`), {
      type: 'approve',
      cardId,
      requestId,
      approved: !option.kind.startsWith('reject'),
      optionId: option.id,
    })
  return key.name === 'f' ? showDialog(model, { ...dialog, feedback: emptyField }) : toUpdate(model)
}

function updateFeedback(model: Model, dialog: Of<'approve'>, feedback: TextField, requestId: string, key: Key): Update {
  const text = textIn(feedback).trim()
  if (key.name === 'enter' && dialog.takesText)
    return text === ''
      ? toUpdate(model)
      : toUpdate(withNotice(leaveApproval(model, dialog), `Answered the agent of card ${dialog.cardId}.`), {
          type: 'approve',
          cardId: dialog.cardId,
          requestId,
          approved: true,
          answer: text,
        })
  if (key.name === 'enter')
    return toUpdate(
      withNotice(leaveApproval(model, dialog), `Rejected the request of the agent of card ${dialog.cardId}.`),
      {
        type: 'approve',
        cardId: dialog.cardId,
        requestId,
        approved: false,
        ...(text !== '' && { feedback: text }),
      },
    )
  const field = typeInto(feedback, key)
  return field ? showDialog(model, { ...dialog, feedback: field }) : toUpdate(model)
}

function updateConfirm(model: Model, { action }: Of<'confirm'>, key: Key): Update {
  if (key.name === 'y' && action) return perform(closeDialog(model), action)
  if (key.name === 's' && action?.type === 'merge') return perform(closeDialog(model), { ...action, squash: true })
  if (key.name === 'd' && action?.type === 'afterMerge' && hasBothSteps(action))
    return perform(closeDialog(model), onlyToDone(action))
  return key.name === 'n' ? toUpdate(closeDialog(model)) : toUpdate(model)
}
