import { Failure } from '../failures/failure.ts'
import { readSettings } from '../context/profiles.ts'
import { dieOf, runInTerminal } from './terminalProgram.ts'
import { UnsavedTexts, type UnsavedText } from './unsavedTexts.ts'

/**
 * Opens a text in VISUAL, EDITOR, the configured editor, or vi.
 * @param save receives the changed text. When it fails, the text is saved in a file that the error names.
 * @throws Failure when the editor ends with an error.
 */
export async function editText(text: string, filename: string, save: (text: string) => Promise<void>): Promise<void> {
  const texts = new UnsavedTexts()
  const unsaved = texts.add(filename, text, false)
  const received = await openEditor(unsaved)
  if (received === undefined) return unsaved.save(save)
  texts.saveAll()
  dieOf(received)
}

/**
 * Opens the file of a text in the editor.
 * @returns the signal that this process received in the meantime, and by which it must end
 * @throws Failure when the editor ends with an error. A changed text is saved in its file, which the error names.
 */
export async function openEditor(unsaved: UnsavedText): Promise<NodeJS.Signals | undefined> {
  const editor = process.env.VISUAL || process.env.EDITOR || readSettings().config?.editor || 'vi'
  const { end, received } = await runInTerminal(`${editor} "$1"`, ['sh', unsaved.path])
  if (received !== undefined || end === 0) return received
  throw unsaved.failure(
    new Failure('failure', `the editor ended with ${typeof end === 'number' ? end : 'a signal'}; nothing was changed`, {
      see: 'board config set editor <command>',
    }),
  )
}
