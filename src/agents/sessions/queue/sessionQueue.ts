import { takesSlot, trackOf, type SessionPurpose } from '../../../store/agents/sessionPurposes.ts'

/** A session that waits for a slot, or has one. */
export interface QueuedSession {
  id: number
  cardId: number
  purpose: SessionPurpose
  /** A run that has ended its session and only listens to its agent still occupies its card, but needs no slot. */
  late?: { readonly isReceiving: boolean }
}

/** The queued sessions, oldest first. */
export interface SessionQueue {
  /** Replaces the content: known sessions keep their place, new ones come last. */
  replace(waiting: readonly QueuedSession[]): void
  waiting(): readonly QueuedSession[]
  /** The sessions that can start in addition to the running ones, filtered by `mayStart`. A card runs one session of each track at a time. */
  findStartable(running: readonly QueuedSession[], mayStart?: (session: QueuedSession) => boolean): QueuedSession[]
  remove(started: readonly QueuedSession[]): void
}

/**
 * Work and reviews have `slots` slots. Conversations (pre-sessions and assistants) have the same number of separate slots, because a user's question
 * must not wait for hours of work. Shell commands of terminal cards are not agents and need no slot.
 */
export function createSessionQueue(slots: number): SessionQueue {
  let order: QueuedSession[] = []
  return {
    replace(waiting) {
      const present = new Map(waiting.map(each => [each.id, each]))
      const known = new Set(order.map(({ id }) => id))
      order = [...order.filter(({ id }) => present.has(id)), ...waiting.filter(({ id }) => !known.has(id))]
    },
    waiting: () => order,
    findStartable(running, mayStart = () => true) {
      const free = { work: slots, talk: slots, shell: Infinity }
      const busy = new Set<string>()
      for (const each of running) occupy(each, free, busy)
      // A session that waits only for the end of its card's last run keeps the place that `mayStart` reserved. Later sessions
      // cannot take that place.
      return order.filter(
        each => free[laneOf(each)] > 0 && mayStart(each) && !busy.has(lockOf(each)) && occupy(each, free, busy),
      )
    },
    remove(started) {
      order = order.filter(each => !started.includes(each))
    },
  }
}

type Lane = 'work' | 'talk' | 'shell'
const laneOf = ({ purpose }: QueuedSession): Lane =>
  takesSlot(purpose) ? 'work' : purpose === 'terminal' ? 'shell' : 'talk'
export const lockOf = ({ cardId, purpose }: Pick<QueuedSession, 'cardId' | 'purpose'>): string =>
  `${cardId} ${trackOf(purpose)}`

function occupy(each: QueuedSession, free: Record<Lane, number>, busy: Set<string>): boolean {
  if (!each.late?.isReceiving) free[laneOf(each)]--
  busy.add(lockOf(each))
  return true
}
