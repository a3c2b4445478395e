import { Option, type Command } from 'commander'
import { usage } from '../failures/failure.ts'
import { readText } from './prompt.ts'

export interface TextOptions {
  file?: string
}

/** Adds `-F, --file` for a long text in place of an argument or option. */
export const addFileOption = (command: Command, what: string): Command =>
  command.addOption(new Option('-F, --file <file>', `file with the ${what}, or - for stdin`))

/**
 * Returns the text from the argument or from the file.
 * @throws Failure (usage) if both are set
 */
export async function readOptionalText(text: string | undefined, { file }: TextOptions): Promise<string | undefined> {
  if (text !== undefined && file !== undefined) throw usage('the text can come from the argument or from -F, not both')
  return file === undefined ? text : readText(file, '-F')
}

/**
 * The message to send.
 * @throws Failure (usage) when there is none
 */
export async function readMessage(text: string | undefined, options: TextOptions): Promise<string> {
  const message = await readOptionalText(text, options)
  if (message === undefined || message.trim() === '')
    throw usage('no message is specified', { hint: 'specify it as an argument, or -F file, or -F - for stdin' })
  return message
}
