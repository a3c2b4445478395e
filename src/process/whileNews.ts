import { setTimeout as delay } from 'node:timers/promises'
import { logFailure, type Log } from '../config/log.ts'

const retryMs = 1000
const mostStopMs = 9000

/**
 * Looks once more for whatever wakes it while it looks, and again after a failure; never twice at the same time. It looks from the
 * start of a server to its end only.
 */
export interface Lookout {
  /** Where the server answers, and its log. Undefined before the start. */
  readonly at: { url: string; log: Log } | undefined
  readonly isOver: boolean
  start(url: string, log: Log): void
  wake(): void
  /** Resolves when it does not look. */
  atRest(): Promise<void>
  /** Looks no more. Resolves when it does not look. */
  end(): Promise<void>
}

/** @param what is looked at, as the log names it when that fails: "Sessions" */
export function whileNews(what: string, look: () => Promise<void>): Lookout {
  let at: Lookout['at']
  let [isNews, isOver] = [false, false]
  let looking: Promise<void> | undefined
  const lookOn = async () => {
    while (isNews) {
      isNews = false
      await look().catch(error => {
        logFailure(at!.log, `${what} could not be looked at.`, error)
        setTimeout(wake, retryMs).unref()
      })
    }
    looking = undefined
  }
  const wake = () => {
    isNews = true
    if (at && !isOver) looking ??= lookOn()
  }
  const atRest = () => looking ?? Promise.resolve()
  return {
    get at() {
      return at
    },
    get isOver() {
      return isOver
    },
    wake,
    atRest,
    start: (url, log) => {
      at = { url, log }
      wake()
    },
    end: () => {
      isOver = true
      return atRest()
    },
  }
}

/** Waits for the end of work when a server stops: 9 s at the most. */
export const withinStop = (over: Promise<unknown>): Promise<unknown> =>
  Promise.race([over, delay(mostStopMs, undefined, { ref: false })])
