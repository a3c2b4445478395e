import { Problem } from '../../contract/errors.ts'
import type { AgentLink, PermissionOption, PermissionRequest } from '../link/agentLink.ts'

/** The permission requests of an agent that wait for a person, oldest first. */
export interface OpenQuestions {
  add(request: PermissionRequest): void
  remove(id: string): void
  open(): PermissionRequest[]
  /**
   * The request of this id; without an id, the only one.
   * @throws Problem NOTHING_TO_APPROVE when it is not open, CONFLICT when several are and none is named
   */
  find(id: string | undefined): PermissionRequest
  /** Answers a request. False when it is not open any more. */
  answer(link: Pick<AgentLink, 'answerPermission'>, id: string, approved: boolean): boolean
}

export function createOpenQuestions(): OpenQuestions {
  const open = new Map<string, PermissionRequest>()
  return {
    add: request => {
      open.set(request.id, request)
    },
    remove: id => {
      open.delete(id)
    },
    open: () => [...open.values()],
    find(id) {
      if (open.size > 1 && id === undefined) throw ambiguous([...open.values()])
      const found = id === undefined ? open.values().next().value : open.get(id)
      if (found) return found
      throw open.size === 0
        ? new Problem('NOTHING_TO_APPROVE')
        : new Problem('NOTHING_TO_APPROVE', `That question is not open any more. Open: ${named([...open.values()])}.`)
    },
    answer(link, id, approved) {
      const request = open.get(id)
      if (!request) return false
      open.delete(id)
      return link.answerPermission(id, optionFor(request, approved))
    },
  }
}

const named = (requests: readonly PermissionRequest[]): string =>
  requests.map(({ id, title }) => `${id} (${title})`).join(', ')

const ambiguous = (requests: readonly PermissionRequest[]): Problem =>
  new Problem('CONFLICT', `Several questions are open; say which by requestId: ${named(requests)}.`, {
    details: requests.map(({ id, title }) => ({ path: 'requestId', message: `${id}: ${title}` })),
  })

/** The option to choose. An approved plan is allowed for all its steps, any other permission once. null where no option fits. */
function optionFor({ kind, options }: PermissionRequest, approved: boolean): string | null {
  const wanted = !approved
    ? ['reject_once', 'reject_always']
    : kind === 'switch_mode'
      ? ['allow_always', 'allow_once']
      : ['allow_once', 'allow_always']
  return (
    wanted
      .map(each => options.find(option => option.kind === each))
      .find((option): option is PermissionOption => option !== undefined)?.id ?? null
  )
}
