type State = 'open' | 'closed'

/** An issue and its card when they were last compared, and what was under way then. */
export interface Seen {
  state: State
  done: boolean
  /** The number of the card's merged request. */
  merged: number | null
  wants: State | null
  closedByBoard: boolean
}
/** The same now. */
export interface Present {
  state: State
  done: boolean
  merged: number | null
  /** Whether an agent has worked on the card, or is about to. */
  begun: boolean
}
export interface Decision {
  /** What the forge is to be told. */
  wants: State | null
  /** What happens to the card: it goes to done, or comes back from there. */
  card: 'finish' | 'return' | null
  closedByBoard: boolean
}

/**
 * Compares both sides with what they were. What happened on the board goes to the forge, else what happened on the forge comes to the
 * board, and where both did the same nothing is left to do. Where they ended differently, the board wins. What is equal stays untouched, so
 * that nothing answers its own echo.
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

/** An answer that did not arrive, before a crash, is found as the state that was wanted. */
const isOurs = (seen: Seen): boolean =>
  seen.wants === 'closed' || (seen.closedByBoard && (seen.state === 'closed' || seen.wants === 'open'))

const finished = (seen: Seen, { state }: Present): Decision =>
  state === 'closed'
    ? { wants: null, card: null, closedByBoard: isOurs(seen) }
    : { wants: 'closed', card: null, closedByBoard: false }

/** Only what the board has closed is opened by it. */
const returned = (seen: Seen, { state }: Present): Decision =>
  state === 'closed' && isOurs(seen)
    ? { wants: 'open', card: null, closedByBoard: true }
    : { wants: null, card: null, closedByBoard: false }
