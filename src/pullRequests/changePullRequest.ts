import { invalid, Problem } from '../contract/errors.ts'
import type { MergeMethod } from '../contract/forges/forge.ts'
import type { PullRequest } from '../contract/forges/pullRequestRecords.ts'
import * as pulls from '../domain/forges/pullRequests.ts'
import { ForgeFailed, type Forge, type PullChange } from '../forge/forge.ts'
import type { Actor } from '../store/engine/database.ts'
import { readPullRequestById, type PullRequestChange, type PullRequestRow } from '../store/forges/pullRequests.ts'
import { refreshPullRequest, type RefreshDependencies } from './refreshPullRequest.ts'

const maxNames = 5

/** A pull request, and the fields that the forge did not accept. */
export interface Changed {
  row: PullRequestRow
  notTaken: readonly string[]
}
/** An open pull request that exists on the forge. */
type Open = PullRequestRow & { number: number }
export interface Merge {
  method?: MergeMethod
  /** Whether to merge without the required checks and reviews, if the forge allows it. */
  force: boolean
  /** The commit that the caller has seen. If undefined, the commit that the board saw last is used. */
  headCommit?: string
}

/** @throws Problem CONFLICT unless it is open */
export function requireOpen(row: PullRequestRow): Open {
  if (row.state === 'creating')
    throw new Problem('CONFLICT', 'The forge has not confirmed the pull request yet. Create it again.')
  if (row.state !== 'open')
    throw new Problem('CONFLICT', `The pull request #${row.number} is already ${row.state}. You can create a new one.`)
  return row as Open
}

/**
 * Changes a pull request on the forge, and its settings on the board.
 * @throws Problem VALIDATION_FAILED if a name is both added and removed; ForgeFailed
 */
export async function changePullRequest(
  dependencies: RefreshDependencies,
  forge: Forge | undefined,
  row: Open,
  change: Omit<PullChange, 'base'>,
  own: Pick<PullRequestChange, 'autoMerge' | 'mergeMethod' | 'nextReadAt'>,
  actor: Actor,
): Promise<Changed> {
  requireApart('removeReviewers', change.addReviewers, change.removeReviewers)
  requireApart('removeLabels', change.addLabels, change.removeLabels)
  await storeFields(dependencies, row.id, own, actor)
  if (!forge) return { row: (await readPullRequestById(dependencies.db, row.id)) ?? row, notTaken: [] }
  const { notTaken } = await forge.updatePull(row.number, change)
  return { row: await readRefreshed(dependencies, row), notTaken }
}

function requireApart(field: string, added: readonly string[] = [], removed: readonly string[] = []): void {
  const both = removed.find(name => added.includes(name))
  if (both !== undefined) throw invalid(field, `must not contain ${both}, which is also in the list to add`)
}

/**
 * Merges a pull request on the forge at the commit that the caller has seen.
 * @param requireProved rejects a commit whose files have not passed the gates of the merge
 * @throws Problem PULL_REQUEST_NOT_READY, GATE_NOT_PASSED, VALIDATION_FAILED, CONFLICT if new commits were pushed since; ForgeFailed
 */
export async function mergePullRequest(
  dependencies: RefreshDependencies,
  forge: Forge,
  seen: Open,
  { method = seen.mergeMethod, force, headCommit = seen.headCommit ?? '' }: Merge,
  actor: Actor,
  requireProved: (commit: string) => Promise<void>,
): Promise<PullRequestRow> {
  await requireMethod(forge, method)
  const { row, failure } = (await refreshPullRequest(dependencies, seen.id, { anew: true })) ?? { row: seen }
  if (failure) throw failure
  if (row.state === 'merged') return row
  const { number, headCommit: present } = requireOpen(row)
  if (present === null || !present.startsWith(headCommit) || headCommit === '')
    throw new Problem(
      'CONFLICT',
      `New commits were pushed to #${number}, which is now at ${present?.slice(0, 10)}. Review them, then merge again.`,
    )
  const missing = force ? [] : missingOf(row)
  if (missing.length > 0) throw new Problem('PULL_REQUEST_NOT_READY', `#${number} is not ready: ${missing.join('; ')}.`)
  await requireProved(present)
  await merge(dependencies, forge, row as Open, { method, headCommit: present }, actor)
  return readRefreshed(dependencies, row)
}

/**
 * Marks a pull request to be merged as soon as the forge allows it.
 * @throws Problem VALIDATION_FAILED; ForgeFailed
 */
export async function mergeLater(
  dependencies: RefreshDependencies,
  forge: Forge,
  row: Open,
  method: MergeMethod,
  actor: Actor,
): Promise<PullRequestRow> {
  await requireMethod(forge, method)
  const now = dependencies.clock().toISOString()
  await storeFields(dependencies, row.id, { autoMerge: true, mergeMethod: method, nextReadAt: now }, actor)
  return (await readPullRequestById(dependencies.db, row.id)) ?? row
}

async function requireMethod(forge: Forge, method: MergeMethod): Promise<void> {
  const { mergeMethods } = await forge.repository()
  if (!mergeMethods.includes(method))
    throw invalid('method', `must be ${mergeMethods.join(' or ')}: the repository allows no other`)
}

/** If a merge took effect without a response, a later read of the forge detects it. */
async function merge(
  dependencies: RefreshDependencies,
  forge: Forge,
  { id, number }: Open,
  how: { method: MergeMethod; headCommit: string },
  actor: Actor,
): Promise<void> {
  const mergeCommit = await forge.mergePull(number, how).catch(async (error: unknown) => {
    if (!(error instanceof ForgeFailed)) throw error
    const looked = await refreshPullRequest(dependencies, id, { anew: true })
    if (looked?.row.state !== 'merged') throw error
    return looked.row.mergeCommit
  })
  await storeEnd(dependencies, id, { state: 'merged', mergeCommit, nextReadAt: null }, actor)
}

/** The missing requirements of a merge, as text for users. */
function missingOf(row: PullRequestRow): string[] {
  const checks = JSON.parse(row.checks) as PullRequest['checks']
  const reviews = JSON.parse(row.reviews) as PullRequest['reviews']
  const namesOfChecks = (state: string) => checks.filter(check => check.state === state).map(({ name }) => name)
  const against = reviews.filter(({ state }) => state === 'changes_requested').map(({ author }) => author)
  return [
    row.draft === 1 && 'it is a draft',
    row.mergeable === 0 && `it conflicts with ${row.base}; run board cards update first, and push`,
    namesOfChecks('failure').length > 0 && `these checks failed: ${joinNames(namesOfChecks('failure'))}`,
    namesOfChecks('pending').length > 0 && `these checks have not finished: ${joinNames(namesOfChecks('pending'))}`,
    against.length > 0 && `changes were requested by ${joinNames(against)}`,
  ].filter(each => each !== false)
}

const joinNames = (names: readonly string[]): string =>
  names.length <= maxNames
    ? names.join(', ')
    : `${names.slice(0, maxNames).join(', ')} and ${names.length - maxNames} more`

/** Closes a pull request on the forge. The branch stays. @throws ForgeFailed */
export async function closePullRequest(
  dependencies: RefreshDependencies,
  forge: Forge,
  row: Open,
  actor: Actor,
): Promise<PullRequestRow> {
  await forge.closePull(row.number)
  await storeEnd(dependencies, row.id, { state: 'closed' }, actor)
  return readRefreshed(dependencies, row)
}

/** Stores the end of a pull request with the current time, so that a read that started earlier counts as older even if it arrives later. */
const storeEnd = (
  dependencies: RefreshDependencies,
  id: number,
  fields: PullRequestChange,
  actor: Actor,
): Promise<void> =>
  storeFields(
    dependencies,
    id,
    { ...fields, autoMerge: false, problem: null, readAt: dependencies.clock().toISOString() },
    actor,
  )

const storeFields = ({ db }: RefreshDependencies, id: number, fields: PullRequestChange, actor: Actor): Promise<void> =>
  db.transaction(async tx => {
    const before = await readPullRequestById(tx, id)
    if (before) await pulls.change(tx, before, fields)
  }, actor)

const readRefreshed = async (dependencies: RefreshDependencies, row: PullRequestRow): Promise<PullRequestRow> =>
  (await refreshPullRequest(dependencies, row.id, { anew: true }))?.row ?? row
