import { cardText } from '../../cards/cardFile.ts'
import type { Cmd, Dialog } from './model.ts'
import { textIn } from './textField.ts'

/** A text that the person has typed, and the name of a file for it. */
export interface TypedText {
  filename: string
  text: string
}

const comment = (cardId: string, text: string): TypedText => ({ filename: `comment-${cardId}.md`, text })
const message = (cardId: string, text: string): TypedText => ({ filename: `message-${cardId}.md`, text })
const answer = (cardId: string, text: string): TypedText => ({ filename: `answer-${cardId}.md`, text })
const newCard = (card: { title: string; prompt?: string }): TypedText => ({
  filename: 'new-card.md',
  text: card.title === '' && !card.prompt ? '' : cardText(card),
})

/** The text that a command sends to the server. Commands that open the editor save their text there instead. */
export function typedTextOfCmd(cmd: Cmd): TypedText | undefined {
  switch (cmd.type) {
    case 'create':
      return newCard(cmd)
    case 'comment':
      return comment(cmd.cardId, cmd.content)
    case 'send':
      return message(cmd.cardId, cmd.content)
    case 'approve': {
      const text = cmd.answer ?? cmd.feedback
      return text === undefined ? undefined : answer(cmd.cardId, text)
    }
    default:
      return undefined
  }
}

/** The text in an open dialog. Searches and filters are not kept. */
export function typedTextOfDialog(dialog: Dialog | undefined): TypedText | undefined {
  switch (dialog?.kind) {
    case 'add':
      return newCard({ title: textIn(dialog.title), prompt: dialog.prompt && textIn(dialog.prompt) })
    case 'comment':
      return comment(dialog.cardId, textIn(dialog.field))
    case 'send':
      return message(dialog.cardId, textIn(dialog.field))
    case 'approve':
      return dialog.feedback && answer(dialog.cardId, textIn(dialog.feedback))
    default:
      return undefined
  }
}
