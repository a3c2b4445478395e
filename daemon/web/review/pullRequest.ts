import { useCallback, useEffect, useRef, useState } from 'react'
import { pullRequestWords } from '../../../src/boardModel/pullRequests.ts'
import { checksOfAll, reviewOfAll } from '../../../src/contract/forges/pullRequestSummary.ts'
import { ApiFailure } from '../../../src/client/failures.ts'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject } from '../app/live.ts'
import { announce } from '../app/messages.ts'
import { client } from '../app/session.ts'
import type { CardPlace } from './reviewStore.ts'

export type Place = CardPlace & { repository: string }
export type Pull = Output<Contract['pullRequests']['get']>
export type PullDraft = Output<Contract['pullRequests']['draft']>

/**
 * Returns a card's newest pull request in a repository, with updates. Null if there is none, undefined until it is loaded.
 * @param hasAny whether the card has a pull request in any repository
 */
export function usePullRequest(
  { projectId, cardId, repository }: Place,
  hasAny: boolean,
): { pull: Pull | null | undefined; put: (pull: Pull) => void } {
  const [pull, setPull] = useState<Pull | null>()
  const put = useCallback(
    (next: Pull) =>
      // Ignore a late event of an earlier state.
      setPull(now => (now && now.createdAt === next.createdAt && now.updatedAt > next.updatedAt ? now : next)),
    [],
  )
  const read = useCallback(
    () =>
      client.pullRequests.get({ projectId, cardId, repository }).then(setPull, (error: unknown) => {
        if (error instanceof ApiFailure && error.code === 'PULL_REQUEST_NOT_FOUND') setPull(null)
      }),
    [projectId, cardId, repository],
  )
  useEffect(() => {
    if (hasAny) void read()
    else setPull(null)
    return followProject(
      projectId,
      events => {
        for (const { type, data } of events) {
          const told = (data ?? {}) as Pull & { cardId?: string; id?: string; pullRequest?: unknown }
          if (type === 'pull_request.updated' && told.cardId === cardId && told.repository === repository) put(told)
          // A deleted pull request is reported only by its card.
          if (type === 'card.updated' && told.id === cardId && told.pullRequest === null) setPull(null)
          if (type === 'resync' && hasAny) void read()
        }
      },
      () => void (hasAny && read()),
    )
  }, [projectId, cardId, repository, hasAny, read, put])
  useAnnounced(pull)
  return { pull, put }
}

/** Announces a changed state of the pull request. */
function useAnnounced(pull: Pull | null | undefined): void {
  const words =
    pull && pullRequestWords({ ...pull, checks: checksOfAll(pull.checks), review: reviewOfAll(pull.reviews) })
  const before = useRef(words)
  useEffect(() => {
    if (before.current !== undefined && words) announce(`Pull request ${words}`)
    before.current = words
  }, [words])
}
