import type { Contract } from '../../src/contract/index.ts'
import { hasSeveralAnswers } from '../../src/contract/agents/questionOptions.ts'
import type { Output } from '../../src/contract/route.ts'
import type { CardPlace } from '../cards/cardApi.ts'
import type { Context } from '../context/context.ts'
import { exitOf, Failure, usage } from '../failures/failure.ts'

export type Question = Output<Contract['agents']['get']>['questions'][number]
type Option = Question['options'][number]

/** An agent's question as lines: its text, then the command, the files or the plan that it is about. */
export function questionLines({ title, command, paths, plan }: Question): string[] {
  const files = paths.filter(path => !title.includes(path))
  return [
    title,
    ...(command === null || command === title
      ? []
      : command.split('\n').map((line, at) => `${at === 0 ? '$ ' : '  '}${line}`)),
    ...(plan === null ? files.map(path => `  ${path}`) : plan.split('\n')),
  ]
}

/** The possible answers to a question: `yes (Allow), always (Always allow)`. */
export const answersOf = ({ options }: Pick<Question, 'options'>): string =>
  options.map(({ id, name }) => (id === name ? id : `${id} (${name})`)).join(', ')

/** The command that answers a question. */
export const answerCommand = (
  { requestId, takesText }: Pick<Question, 'requestId' | 'takesText'>,
  cardId: string,
): string =>
  takesText
    ? `board agents answer ${cardId} --request ${requestId} "..."`
    : `board agents approve ${cardId} --request ${requestId}`

/** Returns the open questions of a card's agent. Empty for an API key that can answer but not read. */
export async function openQuestions(context: Context, place: CardPlace): Promise<readonly Question[]> {
  const { questions } = await context.client.agents.get(place).catch((error: unknown) => {
    if (exitOf(error) === 'denied') return { questions: [] }
    throw error
  })
  return questions
}

/**
 * The question of this ID; without an ID, the only one. If no question is open, the server's error is reported.
 * @throws Failure (conflict) if several are open and none is named
 */
export function findQuestion(
  questions: readonly Question[],
  { cardId }: CardPlace,
  request?: string,
): Question | undefined {
  if (request !== undefined) return questions.find(({ requestId }) => requestId === request)
  if (questions.length > 1)
    throw new Failure('conflict', `the agent has ${questions.length} open questions; select one with --request`, {
      hint: questions.map(({ requestId, title }) => `${requestId}: ${title}`).join('; '),
      see: `board agents view ${cardId}`,
    })
  return questions[0]
}

/** @throws Failure (usage) for a question without options that is approved without a text */
export function requireNoWords({ takesText, options }: Question, cardId: string, { reject }: AnswerOptions): void {
  if (takesText && options.length === 0 && !reject)
    throw usage('this question requires a text answer', { hint: `answer with: board agents answer ${cardId} "..."` })
}

/** The options of an answer, as typed. */
export interface AnswerOptions {
  reject?: boolean
  option?: string
  always?: boolean
}

/**
 * Returns the answer that the options select. The question can be undefined.
 * @throws Failure (usage) if the option is not offered
 */
export function answerTo(
  question: Question | undefined,
  { reject = false, option: wanted, always }: AnswerOptions,
): { approved: boolean; optionId?: string } {
  if (wanted !== undefined && always) throw usage('--option and --always select different answers')
  if (!always && wanted === undefined) {
    if (!reject && question && hasSeveralAnswers(question.options))
      throw usage('the question has several answers; choose one with --option', {
        hint: `offered answers: ${answersOf(question)}`,
      })
    return { approved: !reject }
  }
  if (!question) {
    if (wanted === undefined)
      throw new Failure('denied', 'the offered answers cannot be read; select one with --option')
    return { approved: !reject, optionId: wanted }
  }
  const { id, kind } = always ? onlyLasting(question, reject) : optionNamed(question, wanted!)
  if (reject && kind.startsWith('allow')) throw usage(`${id} allows the request, but --reject is set`)
  return { approved: !reject && !kind.startsWith('reject'), optionId: id }
}

/** The option with this ID, or the only option with this name. @throws Failure (usage) if the question has no such option */
export function optionNamed(question: Question, wanted: string): Option {
  const named = question.options.filter(({ name }) => name === wanted)
  const found = question.options.find(({ id }) => id === wanted) ?? (named.length === 1 ? named[0] : undefined)
  if (found) return found
  throw usage(`the agent does not offer ${wanted}`, { hint: `offered answers: ${answersOf(question)}` })
}

function onlyLasting(question: Question, reject: boolean): Option {
  const kind = reject ? 'reject_always' : 'allow_always'
  const [only, another] = question.options.filter(option => option.kind === kind)
  if (only && !another) return only
  throw usage(
    only
      ? 'the question has several answers that always apply; select one with --option'
      : 'the question has no answer that always applies',
    {
      hint: `offered answers: ${answersOf(question)}`,
    },
  )
}
