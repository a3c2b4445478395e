import { createSerialQueue } from '../../../async/serialQueue.ts'
import { invalid, Problem } from '../../../contract/errors.ts'
import { approvingOption, hasSeveralAnswers } from '../../../contract/agents/questionOptions.ts'
import type { AgentLink, PermissionRequest } from '../../link/agentLink.ts'

/** The permission requests of an agent that wait for a user, oldest first. */
export interface OpenQuestions {
  /** Adds a request that the project's policy leaves to a user. `decide` gets the policy's answer and sends it. */
  add(request: PermissionRequest, decide: () => Promise<boolean>): Promise<void>
  remove(id: string): void
  open(): PermissionRequest[]
  /** Answers a request with one of its options. Returns false if the request is no longer open. */
  answer(link: Pick<AgentLink, 'answerPermission'>, id: string, answer: ChosenAnswer): boolean
}

export function createOpenQuestions(): OpenQuestions {
  const open = new Map<string, PermissionRequest>()
  const undecided = new Set<string>()
  const queue = createSerialQueue()
  return {
    add(request, decide) {
      undecided.add(request.id)
      return queue(async () => {
        const isDecided = undecided.has(request.id) && (await decide())
        if (undecided.delete(request.id) && !isDecided) open.set(request.id, request)
      })
    },
    remove: id => {
      undecided.delete(id)
      open.delete(id)
    },
    open: () => [...open.values()],
    answer: (link, id, { optionId, text }) => open.delete(id) && link.answerPermission(id, optionId, text),
  }
}

/** The fields that questions of agents and of monitors share. */
export type AskedQuestion = Pick<PermissionRequest, 'id' | 'title' | 'command' | 'options' | 'takesText'>

/**
 * The open question with this ID or, without an ID, the only open question.
 * @throws Problem NOTHING_TO_APPROVE if it is not open, CONFLICT if several are open and `id` is undefined
 */
export function findQuestion<T extends AskedQuestion>(open: readonly T[], id: string | undefined): T {
  if (open.length > 1 && id === undefined) throw ambiguous(open)
  const found = id === undefined ? open[0] : open.find(each => each.id === id)
  if (found) return found
  throw open.length === 0
    ? new Problem('NOTHING_TO_APPROVE', "The card's agent has no open question.")
    : new Problem('NOTHING_TO_APPROVE', `The question is no longer open. Open: ${describeRequests(open)}.`)
}

const describeRequests = (requests: readonly AskedQuestion[]): string =>
  requests.map(({ id, title }) => `${id} (${title})`).join(', ')

const ambiguous = (requests: readonly AskedQuestion[]): Problem =>
  new Problem('CONFLICT', `Several questions are open. Specify requestId: ${describeRequests(requests)}.`, {
    details: requests.map(({ id, title }) => ({ path: 'requestId', message: `${id}: ${title}` })),
  })

/** A caller's answer. */
export interface Answer {
  approved: boolean
  optionId?: string
  /** A text answer, for a question that accepts text. */
  answer?: string
}
/** The answer to a question. `optionId` is null for a refusal without an option, and for a text answer. */
export interface ChosenAnswer {
  approved: boolean
  optionId: string | null
  text: string | null
}

/**
 * Returns the answer: the text, the option with the ID `optionId`, or the option that applies once.
 * @throws Problem VALIDATION_FAILED that names the options, also if several options allow the request and `optionId` is undefined
 */
export function answerFor(request: AskedQuestion, { approved, optionId, answer }: Answer): ChosenAnswer {
  if (answer !== undefined && !request.takesText)
    throw notOffered('answer', 'is not accepted by this question. Choose an option', request)
  if (answer !== undefined && !approved) throw invalid('answer', 'cannot be combined with approved: false')
  if (answer !== undefined && optionId !== undefined) throw invalid('answer', 'cannot be combined with optionId')
  if (answer !== undefined) return { approved, optionId: null, text: answer }
  if (approved && request.takesText && request.options.length === 0)
    throw invalid('answer', 'is required, because the question has no options')
  return { approved, optionId: optionFor(request, approved, optionId), text: null }
}

function optionFor(request: AskedQuestion, approved: boolean, optionId: string | undefined): string | null {
  const { options } = request
  if (optionId === undefined && !approved) return rejectingOption(options)?.id ?? null
  const option = optionId === undefined ? approvingOption(options) : options.find(({ id }) => id === optionId)
  if (!option) throw notOffered('optionId', describeMissing(options, optionId), request)
  if (approved && option.kind.startsWith('reject'))
    throw notOffered('optionId', 'must be an option that allows, because approved is true', request)
  if (!approved && option.kind.startsWith('allow'))
    throw notOffered('optionId', 'must be an option that rejects, because approved is false', request)
  return option.id
}

const rejectingOption = (options: AskedQuestion['options']): AskedQuestion['options'][number] | undefined =>
  options.find(({ kind }) => kind === 'reject_once') ?? options.find(({ kind }) => kind === 'reject_always')

function describeMissing(options: AskedQuestion['options'], optionId: string | undefined): string {
  if (optionId !== undefined) return 'is not offered'
  if (hasSeveralAnswers(options)) return 'is required, because several options allow this'
  return options.some(({ kind }) => kind === 'allow_always')
    ? 'is required, because this can only be allowed permanently'
    : 'is required, because no option is known to allow this'
}

const notOffered = (path: string, problem: string, { options }: AskedQuestion): Problem =>
  invalid(path, `${problem}. Offered: ${options.map(({ id, name, kind }) => `${id} (${name}, ${kind})`).join('; ')}`)
