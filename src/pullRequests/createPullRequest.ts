import { Problem } from '../contract/errors.ts'
import type { MergeMethod } from '../contract/forges/forge.ts'
import { actorOf } from '../domain/cards/activity.ts'
import * as branches from '../cardWork/branches.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { makerFor } from '../domain/accounts/makers.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { ForgeFailed, type ForgePull, type NewPull } from '../forge/forge.ts'
import type { RemoteReach } from '../git/remoteGit.ts'
import { readPullRequest, readPullRequestById, type PullRequestRow } from '../store/forges/pullRequests.ts'
import type { Changed } from './changePullRequest.ts'
import { draftPullRequest, withCard, type DraftDependencies, type Work } from './draftPullRequest.ts'
import { findCreated, pullFields, refreshPullRequest, type RefreshDependencies } from './refreshPullRequest.ts'
import type { Worktrees } from '../worktrees/worktrees.ts'

export interface CreateDependencies extends RefreshDependencies, Omit<DraftDependencies, 'db'> {
  worktrees: Worktrees
  reach: RemoteReach
  /** Serializes work of one key, because two concurrent calls would both check before either has created one. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T>
}
export interface Wanted {
  title?: string
  body?: string
  base?: string
  draft: boolean
  reviewers: readonly string[]
  labels: readonly string[]
  autoMerge?: boolean
  mergeMethod?: MergeMethod
}

/**
 * Pushes a card's branch and opens a pull request for it. The intent is stored first, so that after any interruption, the pull
 * request is found by its branch and is not created twice. An open pull request for the branch is used unchanged.
 * @throws Problem PULL_REQUEST_EXISTS, and as a push does; ForgeFailed
 */
export const createPullRequest = (
  dependencies: CreateDependencies,
  work: Work,
  wanted: Wanted,
  caller: Caller,
): Promise<Changed> =>
  dependencies.inTurn(`${work.card.id}/${work.repository}`, async () => {
    const { card, project, repository, open } = work
    const known = await readPullRequest(dependencies.db, card.id, repository)
    if (known?.state === 'open')
      throw new Problem('PULL_REQUEST_EXISTS', `The card already has the open pull request #${known.number}.`)
    const pushed = await branches.push(dependencies.worktrees, card, project, { force: false }, dependencies.reach)
    const drafted = await draftPullRequest(dependencies, work, pushed.branch)
    const request = {
      title: wanted.title ?? drafted.title,
      base: wanted.base ?? drafted.base,
      branch: pushed.branch,
      draft: wanted.draft,
    }
    if (request.base === request.branch)
      throw new Problem(
        'CONFLICT',
        `The card's branch is ${request.base}, which is also the target of the pull request.`,
      )
    const actor = actorOf(caller)
    const row = await dependencies.db.transaction(async tx => {
      const fields = {
        ...(await makerFor(tx, caller)),
        ...request,
        headCommit: pushed.commit,
        pushedCommit: pushed.commit,
        autoMerge: wanted.autoMerge ?? open.settings.autoMerge,
        mergeMethod: wanted.mergeMethod ?? open.settings.mergeMethod,
        nextReadAt: tx.now,
        problem: null,
      }
      return known?.state === 'creating'
        ? pulls.change(tx, known, fields)
        : pulls.add(tx, { ...fields, cardId: card.id, repository, state: 'creating' })
    }, actor)
    const { reviewers, labels } = wanted
    const body = withCard(dependencies, card, wanted.body ?? drafted.body)
    const { pull, notTaken } = await findOrMake(dependencies, work, row, { ...request, body, reviewers, labels })
    await dependencies.db.transaction(async tx => {
      const present = await readPullRequestById(tx, row.id)
      if (present) await pulls.change(tx, present, { ...pullFields(present, pull), problem: null })
    }, actor)
    return { row: (await refreshPullRequest(dependencies, row.id))?.row ?? row, notTaken }
  })

async function findOrMake(
  { db }: CreateDependencies,
  { open: { forge } }: Work,
  row: PullRequestRow,
  request: NewPull,
): Promise<{ pull: ForgePull; notTaken: readonly string[] }> {
  try {
    const pull = await findCreated(forge, row)
    return pull ? { pull, notTaken: [] } : await forge.createPull(request)
  } catch (error) {
    if (!(error instanceof ForgeFailed)) throw error
    // The pull request was created after all, or by another client in the meantime.
    const made = await findCreated(forge, row).catch(() => undefined)
    if (made) return { pull: made, notTaken: [] }
    await db.transaction(async tx => {
      const present = (await readPullRequestById(tx, row.id))!
      // A request without a response might still create it. In this case, the next check finds it.
      if (isUnanswered(error)) await pulls.change(tx, present, { problem: error.message })
      else await pulls.forget(tx, present)
    })
    throw error
  }
}

const isUnanswered = ({ reason }: ForgeFailed): boolean => reason === 'unreachable' || reason === 'odd'
