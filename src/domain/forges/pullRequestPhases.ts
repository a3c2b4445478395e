import type { PullRequestState } from '../../contract/forges/pullRequestRecords.ts'
import type { PullRequestChange, PullRequestPhase, PullRequestRow } from '../../store/forges/pullRequests.ts'

/**
 * The board's work on a pull request. `state` is the forge's view of it, `phase` is the board's.
 *
 *   created
 *     ▼           feedback             turn completed
 *   ┌──────────┐──────────▶┌─────────┐──────────────▶┌─────────┐
 *   │ watching │           │ working │               │ pushing │
 *   └──────────┘◀──────────└─────────┘───────────────└─────────┘
 *     │     ▲        pushed     │                         │
 *     │     │ resumed           │  a user must decide     │
 *     │   ┌────────────┐◀───────┴─────────────────────────┘
 *     └──▶│ handedOver │─────▶ working, if a user sends the agent a message
 *         └────────────┘
 *
 *   merged or closed, from each of these      ┌────────────┐ merged ┌──────────────────┐     ┌──────────┐
 *   ─────────────────────────────────────────▶│ movingCard │───────▶│ removingWorktree │────▶│ finished │
 *                                             └────────────┘        └──────────────────┘     └──────────┘
 *                                                    └─────────── closed ────────────────────────▲
 *
 * - watching: the board reads checks and reviews, and merges if it is to merge automatically.
 * - working: the card's agent works on feedback, or on a user's message.
 * - pushing: the agent is done. Its work and its answers are sent to the forge. The board's own update of the branch, and work of
 *   another pull request's agent in this repository, lead here from watching.
 * - handedOver: a user must decide. `stopped` states the reason. The agent does not resume automatically.
 * - movingCard: the card's agent ends, and the card moves according to its column, as soon as the target column has capacity.
 * - removingWorktree: the worktree is removed, or kept if it has other work, as soon as no process uses it.
 *
 * A pull request that is reopened on the forge is watched again.
 */
type Phased = Pick<PullRequestRow, 'state' | 'phase'>

const endPhases: readonly PullRequestPhase[] = ['movingCard', 'removingWorktree', 'finished']

const isEnd = (state: PullRequestState): boolean => state === 'merged' || state === 'closed'

/** The fields that follow from a new state on the forge. */
export function followState({ state: before, phase }: Phased, state: PullRequestState): PullRequestChange {
  if (state === before) return {}
  if (isEnd(state)) return { phase: 'movingCard', stopped: null, answers: '[]' }
  return endPhases.includes(phase) ? { phase: 'watching' } : {}
}

/** Whether a pull request has ended on the forge. */
export const hasEnded = ({ state }: Phased): boolean => isEnd(state)

/** The change that hands a pull request to a user, with the reason. */
export const handOver = (reason: string): PullRequestChange => ({ phase: 'handedOver', stopped: reason })

/** The change that lets the agent resume its work, with the full number of rounds. */
export const resumedPhase = ({ phase }: Phased, next: 'watching' | 'working' = 'watching'): PullRequestChange => ({
  ...(phase === 'handedOver' && { phase: next }),
  stopped: null,
  rounds: 0,
})

/** Whether the forge's rate limit is exhausted. Until its time, nothing queries the forge for this pull request. */
export const isHeld = ({ heldUntil }: Pick<PullRequestRow, 'heldUntil'>, now: string): boolean =>
  heldUntil !== null && heldUntil > now
