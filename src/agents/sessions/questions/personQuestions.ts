import { randomBytes } from 'node:crypto'
import type { PermissionRequest } from '../../link/agentLink.ts'
import { toPlainLine } from '../../link/failureReasons.ts'
import type { AskedQuestion, ChosenAnswer } from './openQuestions.ts'

/** A user's answer to a question. Null if the user leaves the decision to the agent. */
export interface PersonAnswer {
  answer: string | null
  /** A comment on the answer. Empty if there is none. */
  comment: string
}

const endsAsQuestion = /[?\uff1f]["')*_\s]*$/

/**
 * A question to users that accepts text or one of the options. Its title is the first line that ends as a question, or the first
 * line. Policies never answer it.
 */
export function personQuestion(text: string, options: readonly string[] = []): PermissionRequest {
  const lines = text.trim().split('\n')
  const asked = lines.find(line => endsAsQuestion.test(line)) ?? lines[0]!
  const title = toPlainLine(asked.replace(/^#+ +/, ''))
  const isTitleWhole = asked === lines[0] && asked.endsWith(title)
  const details = (isTitleWhole ? lines.slice(1) : lines).join('\n').trim()
  return {
    id: randomBytes(6).toString('hex'),
    toolCallId: '',
    title,
    kind: 'question',
    // Each option is a different answer, so an approval without an option chooses none.
    options: options.map((name, at) => ({ id: String(at + 1), name: toPlainLine(name), kind: 'allow_once' })),
    takesText: true,
    command: null,
    paths: [],
    plan: details === '' ? null : details,
    about: 'question',
  }
}

/** A user's answer as text: the user's own text, or the name of the option. */
export const wordsOf = (
  { options }: AskedQuestion,
  { approved, optionId, text }: ChosenAnswer,
  comment: string,
): PersonAnswer => ({
  answer: approved ? (text ?? options.find(({ id }) => id === optionId)?.name ?? null) : null,
  comment,
})

/** An answer as a message, for an agent whose turn does not wait for the answer. */
export const messageOfAnswer = (title: string, { answer, comment }: PersonAnswer): string =>
  [
    `The answer to your question "${title}":`,
    answer ?? 'The person leaves the decision to you. Decide, and continue.',
    ...(comment === '' ? [] : [comment]),
  ].join('\n\n')
