import { useEffect } from 'react'
import { stopwatchText } from '../../../src/boardModel/stopwatchText.ts'
import { Store, useStore } from '../app/store.ts'
import { tooltip } from './tooltip.ts'

const minuteMs = 60_000
const formats = {
  minute: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }),
  second: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }),
  shortDay: new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' }),
  day: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }),
  clock: new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }),
}

/** A point in time in the person's locale, to the minute, the second or the day. `clock` shows only the time of day. */
export const formatTime = (at: string, as: keyof typeof formats = 'minute'): string => formats[as].format(new Date(at))

/** Returns a hook for the current time. All components that use it render together, and again as time passes. */
function createClock(everyMs: number): () => number {
  const now = new Store(Date.now())
  let watchers = 0
  let timer: ReturnType<typeof setInterval> | undefined
  const tick = () => now.set(Date.now())
  return () => {
    const shown = useStore(now)
    useEffect(() => {
      if (watchers++ === 0) {
        tick()
        timer = setInterval(tick, everyMs)
      }
      return () => {
        if (--watchers === 0) clearInterval(timer)
      }
    }, [])
    return shown
  }
}

/** Returns the current time, to the minute. */
export const useNow = createClock(minuteMs / 2)
const useSecond = createClock(1000)

/** How long ago something was: `now`, `5 min`, `3 h`, `2 d`, or the date. */
export function Time({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} {...tooltip(formatTime(at))}>
      {ago(Math.max(now, Date.parse(at)) - Date.parse(at), at)}
    </time>
  )
}

function ago(ms: number, at: string): string {
  const minutes = Math.floor(ms / minuteMs)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} min`
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`
  if (minutes < 14 * 24 * 60) return `${Math.floor(minutes / 60 / 24)} d`
  return formatTime(at, 'day')
}

/** A running stopwatch: `0:42`, `12:05`, `1:02:07`. */
export function Elapsed({ since }: { since: string }) {
  const now = useSecond()
  return (
    <time className="elapsed dim" dateTime={since} {...tooltip(`since ${formatTime(since, 'second')}`)}>
      {stopwatchText(now - Date.parse(since))}
    </time>
  )
}
