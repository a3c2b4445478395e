import type { SessionPurpose } from '../../store/sessions.ts'

/** What waits for a slot. */
export interface Waiting {
  id: number
  cardId: number
  purpose: SessionPurpose
}

/** Sessions that wait for their turn, in the order in which they were asked for. */
export interface Queue {
  /** Takes these for all that wait: new ones come last, those that are missing are forgotten. */
  keep(waiting: readonly Waiting[]): void
  /** Takes out those that may start beside those that run. A card has one session at a time. */
  next(running: readonly Waiting[]): Waiting[]
}

/**
 * Work and talks (pre-sessions and assistants) have `slots` each, so that nobody who asks a question waits for hours of
 * work to end. Shell commands of terminal cards are no agents: they wait for nobody.
 */
export function createQueue(slots: number): Queue {
  let order: Waiting[] = []
  return {
    keep(waiting) {
      const present = new Map(waiting.map(each => [each.id, each]))
      const known = new Set(order.map(({ id }) => id))
      order = [...order.filter(({ id }) => present.has(id)), ...waiting.filter(({ id }) => !known.has(id))]
    },
    next(running) {
      const free = { work: slots, talk: slots, shell: Infinity }
      const busy = new Set<string>()
      for (const each of running) take(each, free, busy)
      const started = order.filter(each => free[laneOf(each)] > 0 && !busy.has(placeOf(each)) && take(each, free, busy))
      order = order.filter(each => !started.includes(each))
      return started
    },
  }
}

type Lane = 'work' | 'talk' | 'shell'
const laneOf = ({ purpose }: Waiting): Lane => (purpose === 'work' ? 'work' : purpose === 'terminal' ? 'shell' : 'talk')
const placeOf = ({ cardId, purpose }: Waiting): string => `${cardId}${purpose === 'pre' ? ' pre' : ''}`

function take(each: Waiting, free: Record<Lane, number>, busy: Set<string>): boolean {
  free[laneOf(each)]--
  busy.add(placeOf(each))
  return true
}
