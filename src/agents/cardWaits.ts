import { throttle } from '../async/throttle.ts'
import { Problem } from '../contract/errors.ts'
import type { WaitOutcome } from '../contract/agents/agents.ts'
import type { Caller } from '../domain/accounts/caller.ts'
import { find, type CardRef } from '../domain/cards/cards.ts'
import type { Outbox } from '../events/outbox.ts'
import type { CardRow } from '../store/cards/cards.ts'
import type { Database } from '../store/engine/database.ts'

/** The maximum number of cards that one caller, and all callers together, can wait for. */
const [maxPerCaller, maxInAll] = [20, 500]
/** The minimum interval between two checks of a card, regardless of how much happens on the board. */
const debounceMs = 100

/** Requests that wait for agents of cards. */
export interface CardWaits {
  /**
   * Waits until a card's agent has ended, waits for a user or never started, until the time is over, or until `signal` is
   * aborted.
   * @throws Problem CARD_NOT_FOUND, RATE_LIMITED
   */
  until(caller: Caller, ref: CardRef, timeoutMs: number, signal: AbortSignal): Promise<WaitOutcome>
  /** The number of current waits. */
  count(): number
  /** Ends all waiting, as if the time were over. */
  stop(): Promise<void>
}

export function createCardWaits(db: Database, outbox: Outbox): CardWaits {
  const byCaller = new Map<string, number>()
  const stopped = new AbortController()
  let inAll = 0

  const enter = (caller: Caller): (() => void) => {
    const name = caller.tokenHash || caller.kind
    const count = byCaller.get(name) ?? 0
    if (count >= maxPerCaller || inAll >= maxInAll)
      throw new Problem('RATE_LIMITED', `You can wait for at most ${maxPerCaller} cards at a time.`, {
        retryAfterSecs: 5,
      })
    byCaller.set(name, count + 1)
    inAll++
    return () => {
      const left = byCaller.get(name)! - 1
      if (left > 0) byCaller.set(name, left)
      else byCaller.delete(name)
      inAll--
    }
  }

  return {
    until: async (caller, ref, timeoutMs, signal) => {
      const leave = enter(caller)
      const over = AbortSignal.any([signal, stopped.signal])
      const eventWait = createNews(outbox)
      const time = setTimeout(eventWait.end, timeoutMs)
      over.addEventListener('abort', eventWait.end, { once: true })
      try {
        while (true) {
          const outcome = outcomeOf(await find(db, ref))
          if (outcome) return outcome
          if (over.aborted || eventWait.isOver()) return 'timeout'
          await eventWait.next()
        }
      } finally {
        clearTimeout(time)
        over.removeEventListener('abort', eventWait.end)
        eventWait.close()
        leave()
      }
    },
    count: () => inAll,
    stop: async () => stopped.abort(),
  }
}

/** Signals that the board might have changed since the last check. */
function createNews(outbox: Outbox) {
  let [isDue, isOver] = [false, false]
  let wake: (() => void) | undefined
  const markDue = () => {
    isDue = true
    wake?.()
  }
  const heard = throttle(markDue, debounceMs)
  const stopListening = outbox.onAppended(heard)
  return {
    next: async () => {
      if (!isDue) await new Promise<void>(resolve => (wake = resolve))
      isDue = false
    },
    end: () => {
      isOver = true
      markDue()
    },
    isOver: () => isOver,
    close: () => {
      heard.cancel()
      stopListening()
    },
  }
}

/** The outcome of waiting for a card. Undefined while its agent is queued or running. */
function outcomeOf({ status }: CardRow): Exclude<WaitOutcome, 'timeout'> | undefined {
  if (status === 'queued' || status === 'running') return undefined
  return status === 'waiting' || status === 'idle' ? status : 'ended'
}
