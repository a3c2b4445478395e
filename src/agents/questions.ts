import type { AgentLink, PermissionOption, PermissionRequest } from './types.ts'

/** The questions of an agent that wait for a person, oldest first. */
export interface Questions {
  add(request: PermissionRequest): void
  remove(id: string): void
  oldest(): PermissionRequest | undefined
  /** Answers the oldest one. False when there is none. */
  answer(link: Pick<AgentLink, 'answerPermission'>, approved: boolean): boolean
}

export function createQuestions(): Questions {
  const open = new Map<string, PermissionRequest>()
  const oldest = () => open.values().next().value
  return {
    add: request => {
      open.set(request.id, request)
    },
    remove: id => {
      open.delete(id)
    },
    oldest,
    answer(link, approved) {
      const request = oldest()
      if (!request) return false
      open.delete(request.id)
      return link.answerPermission(request.id, optionFor(request, approved))
    },
  }
}

/** A plan that is approved is carried out without asking at each step; any other permission is given once. Without a fitting option none is chosen. */
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
