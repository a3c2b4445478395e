import { Problem } from '../../contract/errors.ts'
import type { PullRequestState } from '../../contract/forges/pullRequestRecords.ts'
import { appendEvent } from '../../events/outbox.ts'
import type { Reader, Transaction } from '../../store/engine/database.ts'
import {
  deletePullRequest,
  insertPullRequest,
  listPullRequests,
  readPullRequest,
  readPullRequestById,
  showOnCard,
  updatePullRequest,
  type ListedPullRequest,
  type NewPullRequest,
  type PullRequestChange,
  type PullRequestRow,
} from '../../store/forges/pullRequests.ts'
import { projectOfCard } from '../../store/cards/cards.ts'
import { pullRequestOfCard } from '../../views/pullRequests.ts'
import { recordActivity } from '../cards/activity.ts'
import { followState } from './pullRequestPhases.ts'
import { changeCardIfThere } from '../cards/cardChanges.ts'

type Listing = 'open' | 'merged' | 'closed' | 'all'
const states: Record<Listing, readonly PullRequestState[]> = {
  open: ['creating', 'open'],
  merged: ['merged'],
  closed: ['closed'],
  all: ['creating', 'open', 'merged', 'closed'],
}

/** A project's pull requests, newest first. */
export const list = (
  db: Reader,
  projectId: number,
  { state, limit }: { state: Listing; limit: number },
): Promise<ListedPullRequest[]> => listPullRequests(db, projectId, { states: states[state], limit })

/** A card's newest pull request in a repository. @throws Problem PULL_REQUEST_NOT_FOUND */
export async function find(db: Reader, cardId: number, repository: string): Promise<PullRequestRow> {
  const pull = await readPullRequest(db, cardId, repository)
  if (!pull) throw new Problem('PULL_REQUEST_NOT_FOUND')
  return pull
}

/** Stores a pull request that is about to be created on the forge. */
export async function add(tx: Transaction, pull: NewPullRequest): Promise<PullRequestRow> {
  const id = await insertPullRequest(tx, pull)
  return announce(tx, (await readPullRequestById(tx, id))!)
}

/** Deletes a pull request that the forge did not create. */
export async function forget(tx: Transaction, pull: PullRequestRow): Promise<void> {
  deletePullRequest(tx, pull.id)
  const projectId = await projectOfCard(tx, pull.cardId)
  if (projectId !== undefined) await showChanged(tx, pull.cardId, projectId)
}

/**
 * Stores the changes of a pull request and what follows from its state, announces them and the changes of its card, and records
 * its outcome. Fields with equal values are not changes.
 */
export async function change(
  tx: Transaction,
  before: PullRequestRow,
  fields: PullRequestChange,
): Promise<PullRequestRow> {
  const given = { ...(fields.state && followState(before, fields.state)), ...fields }
  const changed = Object.entries(given).filter(([name, value]) => !isSame(before[name as keyof PullRequestRow], value))
  if (changed.length === 0) return before
  updatePullRequest(tx, before.id, Object.fromEntries(changed))
  const after = (await readPullRequestById(tx, before.id))!
  if (after.state !== before.state && after.state !== 'creating')
    recordActivity(tx, after.cardId, actions[after.state], [{ field: 'pullRequest', from: null, to: nameOf(after) }])
  return announce(tx, after)
}

const actions = { open: 'pull_request.opened', merged: 'pull_request.merged', closed: 'pull_request.closed' } as const

const isSame = (stored: string | number | null, given: string | number | boolean | null | undefined): boolean =>
  given === undefined || stored === (typeof given === 'boolean' ? Number(given) : given)

/** `#12`, on one line with the repository unless it is the project's home. */
const nameOf = ({ number, repository }: PullRequestRow): string =>
  [repository, number === null ? '' : `#${number}`].filter(Boolean).join(' ')

async function announce(tx: Transaction, pull: PullRequestRow): Promise<PullRequestRow> {
  const projectId = await projectOfCard(tx, pull.cardId)
  if (projectId === undefined) return pull
  await appendEvent(tx, 'pull_request.updated', projectId, pullRequestOfCard(pull))
  await showChanged(tx, pull.cardId, projectId)
  return pull
}

async function showChanged(tx: Transaction, id: number, projectId: number): Promise<void> {
  if (await showOnCard(tx, id)) await changeCardIfThere(tx, { id, projectId }, {})
}
