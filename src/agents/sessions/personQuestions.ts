import { randomBytes } from 'node:crypto'
import type { Asked, ChosenAnswer } from './openQuestions.ts'
import type { PermissionRequest } from '../link/agentLink.ts'
import { toPlainLine } from '../link/failureReasons.ts'

/** A question to people for words or one of some answers. No policy answers it. */
export const questionInWords = (text: string): PermissionRequest => ({
  id: randomBytes(6).toString('hex'),
  toolCallId: '',
  title: toPlainLine(text),
  kind: 'question',
  options: [],
  takesText: true,
  command: null,
  paths: [],
  plan: null,
  about: 'other',
})

/** What a person answers to a question in words; null: the person leaves it to the agent. */
export interface PersonAnswer {
  answer: string | null
  /** What the person says besides; empty: nothing. */
  comment: string
}

/** A person's answer as words: the name of the option, or their own. */
export const wordsOf = (
  { options }: Asked,
  { approved, optionId, text }: ChosenAnswer,
  comment: string,
): PersonAnswer => ({
  answer: approved ? (text ?? options.find(({ id }) => id === optionId)?.name ?? null) : null,
  comment,
})

/** An answer as the message to an agent whose turn does not wait for it. */
export const messageOfAnswer = (title: string, { answer, comment }: PersonAnswer): string =>
  [
    `The answer to your question "${title}":`,
    answer ?? 'A person leaves this to you. Decide yourself, and continue.',
    ...(comment === '' ? [] : [comment]),
  ].join('\n\n')
