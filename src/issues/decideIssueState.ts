type State = 'open' | 'closed'

/** The state of an issue and its card at the last comparison, with pending changes. */
export interface Seen {
  state: State
  done: boolean
  /** The number of the card's merged pull request. */
  merged: number | null
  wants: State | null
  closedByBoard: boolean
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
  /** The state that the forge must receive. */
  wants: State | null
  /** The action on the card: it moves to done, or back from there. */
  card: 'finish' | 'return' | null
  closedByBoard: boolean
}

/**
 * Compares both sides with their earlier states. A change on the board goes to the forge, otherwise a change on the forge goes to
 * the board. If both changed equally, nothing is left to do. If they changed differently, the board takes precedence. Equal
 * states are not touched, so that no side reacts to its own change.
 */
export function decideIssueState(seen: Seen, present: Present): Decision {
  const cameBack = seen.done && !present.done
  const isFinished =
    (present.done && !seen.done) || (present.merged !== null && present.merged !== seen.merged && !cameBack)
  if (isFinished || (seen.wants === 'closed' && !cameBack)) return finished(seen, present)
  if (cameBack || seen.wants === 'open') return returned(seen, present)
  if (present.state === seen.state) return { wants: null, card: null, closedByBoard: seen.closedByBoard }
  if (present.state === 'open') return { wants: null, card: present.done ? 'return' : null, closedByBoard: false }
  return { wants: null, card: present.done || present.begun ? null : 'finish', closedByBoard: false }
}

/** If a response was lost before a crash, the forge has the requested state. */
const isOurs = (seen: Seen): boolean =>
  seen.wants === 'closed' || (seen.closedByBoard && (seen.state === 'closed' || seen.wants === 'open'))

const finished = (seen: Seen, { state }: Present): Decision =>
  state === 'closed'
    ? { wants: null, card: null, closedByBoard: isOurs(seen) }
    : { wants: 'closed', card: null, closedByBoard: false }

/** The board reopens only issues that it has closed. */
const returned = (seen: Seen, { state }: Present): Decision =>
  state === 'closed' && isOurs(seen)
    ? { wants: 'open', card: null, closedByBoard: true }
    : { wants: null, card: null, closedByBoard: false }
