import { useEffect } from 'react'
import { Store, useStore } from '../app/store.ts'
import { tooltip } from './tooltip.ts'

const minuteMs = 60_000
/** The current time, to the minute. All relative times render together. */
const minute = new Store(Date.now())
let watchers = 0
let timer: ReturnType<typeof setInterval> | undefined

const formats = {
  minute: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }),
  second: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }),
  shortDay: new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' }),
  day: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' }),
  clock: new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }),
}

/** A point in time in the person's locale, to the minute, the second or the day. `clock` shows only the time of day. */
export const formatTime = (at: string, as: keyof typeof formats = 'minute'): string => formats[as].format(new Date(at))

/** Returns the current time, to the minute. Components that use it render again as time passes. */
export function useNow(): number {
  const now = useStore(minute)
  useEffect(() => {
    if (watchers++ === 0) timer = setInterval(() => minute.set(Date.now()), minuteMs / 2)
    return () => {
      if (--watchers === 0) clearInterval(timer)
    }
  }, [])
  return now
}

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
