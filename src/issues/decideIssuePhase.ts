import type { IssuePhase } from '../store/cards/cardIssues.ts'

type State = 'open' | 'closed'

/**
 * An issue that has a card.
 *
 *              the card is done                     sent
 *   ┌──────┐───────────────────────▶┌─────────┐────────────▶┌───────────────┐
 *   │ open │                        │ closing │             │ closedByBoard │
 *   └──────┘◀───────────────────────└─────────┘             └───────────────┘
 *     │  ▲      the card came back                                  │ the card came back
 *     │  │                          ┌───────────┐                   │
 *     │  └──────────────────────────│ reopening │◀──────────────────┘
 *     │               sent          └───────────┘
 *     │ closed on the forge         ┌─────────────────┐
 *     └────────────────────────────▶│ closedElsewhere │──▶ open, if it is reopened on the forge
 *                                   └─────────────────┘
 *
 * - open: the issue is open, and its card is to be done.
 * - closing: the card is done. The forge is to close the issue, with a comment that explains it.
 * - closedByBoard: the board has closed the issue, and reopens it if its card comes back.
 * - reopening: the forge is to reopen the issue.
 * - closedElsewhere: users of the forge have closed the issue. Only they reopen it.
 * - missing: the forge no longer has the issue. If it appears again, the issue takes the phase that its state on the forge requires.
 */
export interface Seen {
  phase: IssuePhase
  /** Whether the card was done at the last comparison. */
  done: boolean
  /** The number of the card's merged pull request. */
  merged: number | null
}
/** The current state. */
export interface Present {
  state: State
  done: boolean
  merged: number | null
  /** Whether an agent has worked on the card, or is about to. */
  begun: boolean
}
export interface Decision {
  phase: IssuePhase
  /** The action on the card: it moves to done, or back from there. */
  card: 'finish' | 'return' | null
}

/** The issue's state on the forge in each phase. */
const states: Readonly<Record<Exclude<IssuePhase, 'missing'>, State>> = {
  open: 'open',
  closing: 'open',
  closedByBoard: 'closed',
  closedElsewhere: 'closed',
  reopening: 'closed',
}
/** If a response was lost before a crash, the forge has the requested state. */
const byBoard: readonly IssuePhase[] = ['closing', 'closedByBoard', 'reopening']

/**
 * Compares both sides with their earlier states. A change on the board goes to the forge, otherwise a change on the forge goes to
 * the board. If both changed equally, nothing is left to do. If they changed differently, the board takes precedence. Equal
 * states are not touched, so that no side reacts to its own change.
 */
export function decideIssuePhase(seen: Seen, { state, done, merged, begun }: Present): Decision {
  const closed: IssuePhase = byBoard.includes(seen.phase) ? 'closedByBoard' : 'closedElsewhere'
  const cameBack = seen.done && !done
  const isFinished = (done && !seen.done) || (merged !== null && merged !== seen.merged && !cameBack)
  if (isFinished || (seen.phase === 'closing' && !cameBack))
    return { phase: state === 'closed' ? closed : 'closing', card: null }
  if (cameBack || seen.phase === 'reopening') {
    if (state === 'open') return { phase: 'open', card: null }
    return { phase: closed === 'closedByBoard' ? 'reopening' : closed, card: null }
  }
  if (seen.phase === 'missing') return { phase: state === 'open' ? 'open' : 'closedElsewhere', card: null }
  if (state === states[seen.phase]) return { phase: seen.phase, card: null }
  if (state === 'open') return { phase: 'open', card: done ? 'return' : null }
  return { phase: 'closedElsewhere', card: done || begun ? null : 'finish' }
}
