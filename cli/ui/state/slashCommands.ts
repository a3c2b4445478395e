import { escapeControls } from '../../output/text.ts'
import type { ListItem } from './pickItem.ts'
import type { Model, Msg, SendDialog } from './model.ts'
import { fieldOf, textIn } from './textField.ts'

/** The slash commands that the message's beginning is a prefix of. */
export function commandItems({ commands, field }: Pick<SendDialog, 'commands' | 'field'>): ListItem[] {
  const typed = textIn(field)
  return /^\/\S*$/.test(typed)
    ? commands
        .map(({ name, description }) => ({ text: `/${escapeControls(name)}`, aside: description }))
        .filter(({ text }) => text.toLowerCase().startsWith(typed.toLowerCase()))
    : []
}

/** Completes the command under the cursor in the field, ready for its argument. */
export function withCommand(dialog: SendDialog): SendDialog {
  const items = commandItems(dialog)
  const item = items[Math.min(dialog.at, items.length - 1)]
  return item ? { ...dialog, field: fieldOf(`${item.text} `), at: 0 } : dialog
}

export function onSlashCommands(model: Model, { cardId, commands }: Extract<Msg, { type: 'slashCommands' }>): Model {
  const { dialog } = model
  return dialog?.kind === 'send' && dialog.cardId === cardId ? { ...model, dialog: { ...dialog, commands } } : model
}
