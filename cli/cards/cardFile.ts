import { Failure } from '../failures/failure.ts'

/** A card as a person edits it: the title, an empty line, the prompt. */
export const cardText = ({ title, prompt = '' }: { title: string; prompt?: string }): string => `${title}\n\n${prompt}`

/**
 * The first line is the title, and the text after the following empty line is the prompt.
 * @throws Failure (usage) without a title
 */
export function cardOfText(text: string): { title: string; prompt: string } {
  const [, title = '', prompt = ''] = /^(.*)(?:\r?\n)*([\s\S]*)$/.exec(text) ?? []
  if (title.trim() === '') throw new Failure('usage', 'the first line must be the title')
  return { title: title.trim(), prompt }
}
