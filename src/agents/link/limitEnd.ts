const maxAheadMs = 8 * 86_400_000
/** A time of day that has just passed was rounded by the agent, or is stale. It does not refer to tomorrow. */
const staleMs = 15 * 60_000
const maxTextLength = 20_000

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const unit = '(?:milliseconds?|ms|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)'
const duration = `(?:\\d+(?:\\.\\d+)?\\s*${unit}(?![a-z])[\\s,]*(?:and\\s+)?)+`
// The number of letters is limited, because a pattern without a limit would search a long run again from each of its positions.
const month = `(${months.join('|')})[a-z]{0,6}\\.?`
const dayOfMonth = '(\\d{1,2})(?:st|nd|rd|th)?'
const time = '(?:noon|midnight|(\\d{1,2})(?::(\\d{2}))?(?::\\d{2})?\\s*(am|pm)?)'
const before = '(?:resets?|reset at|resetting|renews?|try again|retry|available again|available|unlocks?|continue)'
const link = '(?:\\s+(?:at|on|after|in|from|by))*\\s*[:·∙]?\\s*'

const epoch =
  /(?:limit reached\s*\||"?(?:resets?_?at|reset_?time|x-ratelimit-reset)"?\s*[:=]\s*"?)\s*(\d{10}(?:\d{3})?)\b/i
const iso =
  /(?:reset|retry|again|until|available)[^\n]{0,40}?(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:Z|UTC|[+-]\d{2}:?\d{2}))/i
const seconds =
  /"?(?:resets?_in_seconds|reset_?after_?seconds|retry[-_ ]?after(?:[-_](?:seconds|secs?))?)"?\s*[:=]?\s*"?(\d+(?:\.\d+)?)\b(?!\s*(?:ms|m|h|d|hours?|minutes?|days?)\b)/i
const milliseconds = /"?retry[-_ ]?after[-_]ms"?\s*[:=]\s*"?(\d+(?:\.\d+)?)\b/i
const lasting = new RegExp(
  `(?:resets?|again|retry|wait|retry_?delay"?\\s*[:=]\\s*")(?:\\s+(?:in|after|for|about|another))*\\s*(${duration})`,
  'i',
)
const dated = new RegExp(`${before}${link}${month}\\s+${dayOfMonth}(?:,?\\s+(\\d{4}))?(?:,|\\s+at)?\\s+${time}`, 'i')
const daily = new RegExp(`${before}${link}${time}`, 'i')
const zoneAfter = /^[^\n(]{0,12}\(([A-Za-z_]+(?:\/[A-Za-z_+-]+[0-9]*){0,2})\)|^\s*(UTC|GMT)\b/

/**
 * When the usage limit in an agent's error text ends, as an ISO time. Undefined if the text has no time, or one that has passed
 * or is more than 8 days ahead. A time of day without a zone is in `timeZone`, by default the server's.
 */
export function limitEndIn(text: string, now: Date, timeZone?: string): string | undefined {
  const plain = joinSpaces(text.slice(0, maxTextLength)).replaceAll('\\"', '"').replaceAll('’', "'")
  const at = instantIn(plain, now, timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone)
  if (at === undefined || !(at > now.getTime()) || at - now.getTime() > maxAheadMs) return undefined
  return new Date(at).toISOString()
}

/** Shortens each run of white space to one character. Otherwise, the parts of a pattern could share a long run in very many ways. */
const joinSpaces = (text: string) => text.replaceAll(/\s+/g, run => (run.includes('\n') ? '\n' : ' '))

function instantIn(text: string, now: Date, timeZone: string): number | undefined {
  const since = epoch.exec(text)?.[1]
  if (since !== undefined) return Number(since) * (since.length === 13 ? 1 : 1000)
  const moment = iso.exec(text)?.[1]
  if (moment !== undefined) return Date.parse(moment.replace(/\s*UTC$/, 'Z').replace(' ', 'T'))
  const inMs = milliseconds.exec(text)?.[1]
  if (inMs !== undefined) return now.getTime() + Number(inMs)
  const inSeconds = seconds.exec(text)?.[1]
  if (inSeconds !== undefined) return now.getTime() + Number(inSeconds) * 1000
  const lasts = lasting.exec(text)?.[1]
  if (lasts !== undefined) return now.getTime() + durationMs(lasts)
  return clockIn(text, now, timeZone)
}

const durationMs = (text: string): number =>
  [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|milli|[dhms])/gi)].reduce(
    (sum, [, amount, name]) =>
      sum + Number(amount) * unitMs[name!.toLowerCase() === 'milli' ? 'ms' : name!.toLowerCase()]!,
    0,
  )

/** A time of day, with or without its day. */
function clockIn(text: string, now: Date, fallback: string): number | undefined {
  const withDay = dated.exec(text)
  const found = withDay ?? daily.exec(text)
  if (!found) return undefined
  const [hour, minute] = clockOf(found[0], found.slice(-3))
  if (hour === undefined || minute === undefined) return undefined
  const zone = zoneOf(text.slice(found.index + found[0].length)) ?? fallback
  const today = partsIn(zone, now.getTime())
  if (!withDay) {
    const at = instantOf(zone, { ...today, hour, minute })
    if (at > now.getTime()) return at
    return now.getTime() - at < staleMs ? undefined : instantOf(zone, { ...today, day: today.day + 1, hour, minute })
  }
  const [, name, day, year] = withDay
  const named = { month: months.indexOf(name!.toLowerCase()) + 1, day: Number(day), hour, minute }
  if (year !== undefined) return instantOf(zone, { ...named, year: Number(year) })
  const at = instantOf(zone, { ...named, year: today.year })
  // For example, "Jan 2" in a text of December.
  return at < now.getTime() - 180 * 86_400_000 ? instantOf(zone, { ...named, year: today.year + 1 }) : at
}

/** The hour and minute. Without am or pm, only a time with minutes counts, because a plain number can mean anything. */
function clockOf(whole: string, [hours, minutes, half]: Array<string | undefined>): [number?, number?] {
  if (hours === undefined) return [/noon$/i.test(whole) ? 12 : 0, 0]
  if (half === undefined && minutes === undefined) return []
  const [hour, minute] = [Number(hours), Number(minutes ?? 0)]
  if (minute > 59 || hour > 23 || (half !== undefined && (hour > 12 || hour === 0))) return []
  return [half === undefined ? hour : (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0), minute]
}

/** The time zone that the text after a time names. Undefined if the text does not name a time zone. */
function zoneOf(text: string): string | undefined {
  const found = zoneAfter.exec(text)
  const name = found?.[1] ?? (found?.[2] && 'UTC')
  if (!name) return undefined
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

interface Wall {
  year: number
  month: number
  day: number
  hour: number
  minute: number
}

/** The date and time in a zone. */
function partsIn(timeZone: string, at: number): Wall {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  }).formatToParts(at)
  const read = (type: string) => Number(parts.find(part => part.type === type)?.value)
  return { year: read('year'), month: read('month'), day: read('day'), hour: read('hour'), minute: read('minute') }
}

const utcOf = ({ year, month, day, hour, minute }: Wall) => Date.UTC(year, month - 1, day, hour, minute)

/** The instant of a local time in a zone. Corrected twice, because the first guess can be on the other side of a clock change. */
function instantOf(zone: string, wall: Wall): number {
  const wanted = utcOf(wall)
  const correct = (guess: number) => guess + wanted - utcOf(partsIn(zone, guess))
  return correct(correct(wanted))
}
