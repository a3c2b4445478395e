import { InvalidArgumentError, type Command } from 'commander'
import { CardStatus, startsWithDay } from '../../src/contract/fields.ts'
import { usage } from '../failures/failure.ts'

/** Parsers for the values of options and arguments. They throw an error that commander converts to a usage error. */

/** A whole number of at least 1. */
export function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('must be a whole number of at least 1.')
  return Number(text)
}

/** Parses a whole number of at least 0, for example a zero-based position in a column. */
export function countFromZero(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('must be a whole number of at least 0.')
  return Number(text)
}

const unitSecs: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Parses a duration into seconds: `90`, `90s`, `1.5`, `15m`, `2h`, `7d`. */
export function durationSecs(text: string): number {
  const [, digits, unit] = /^(\d{1,9}(?:\.\d{1,3})?)([smhd]?)$/.exec(text) ?? []
  if (digits === undefined) throw new InvalidArgumentError('must be a duration like 90s, 15m, 2h or 7d.')
  return Number(digits) * unitSecs[unit || 's']!
}

/** Parses an expiry: a date or time in ISO 8601, local without a zone, or a number of days from now (`30d`, `30`). */
export function expiry(text: string): { expiresAt: string } | { expiresInDays: number } {
  const days = /^(\d{1,4})d?$/.exec(text)
  if (days) return { expiresInDays: Number(days[1]) }
  const expiresAt = writtenTime(text)
  if (expiresAt !== undefined) return { expiresAt }
  throw new InvalidArgumentError('must be a number of days like 30d, or a date like 2030-01-31.')
}

/**
 * Parses a bound of a list of messages: a message's ID, a date or time, or a duration ago (`15m`, `2h`). Returns an ID
 * or a time in ISO 8601.
 */
export function messageBound(text: string): string {
  return /^\d{1,15}$/.test(text)
    ? text
    : (timeOf(text) ??
        refuse(
          'must be the ID of a message, a time like 2030-01-31T12:00:00Z, or a duration like 15m, counted back from now.',
        ))
}

/** Parses a date or time, or a duration ago (`15m`), into ISO 8601. */
export const pastTime = (text: string): string =>
  timeOf(text) ?? refuse('must be a time like 2030-01-31T12:00:00Z, or a duration like 15m, counted back from now.')

/** The time a duration ago (`15m`), in ISO 8601. */
const ago = (text: string): string => new Date(Math.max(0, Date.now() - durationSecs(text) * 1000)).toISOString()

function timeOf(text: string): string | undefined {
  return /^\d{1,9}[smhd]$/.test(text) ? ago(text) : writtenTime(text)
}

/** A written date or time in ISO 8601, local without a zone. `T00:00` is appended, because JavaScript reads a bare date as UTC. */
function writtenTime(text: string): string | undefined {
  if (!startsWithDay(text)) return undefined
  const time = new Date(text.length === 10 ? `${text}T00:00` : text)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

/**
 * Parses a future time to ISO 8601: a day, `today` or `tomorrow`, which mean the end of the day, a duration from now (`3d`, `2h`), or a
 * date and time.
 */
export const dayEnd = (text: string): string => timeToCome(text, 1)
/** Parses a time like `dayEnd`, but a day means its start. Also accepts `now`. */
export const dayStart = (text: string): string => (text === 'now' ? new Date().toISOString() : timeToCome(text, 0))

function timeToCome(text: string, endsOfDay: 0 | 1): string {
  const word = ['today', 'tomorrow'].indexOf(text)
  if (word >= 0 || /^\d{4}-\d\d-\d\d$/.test(text)) {
    const day = word >= 0 ? new Date() : new Date(writtenTime(text) ?? refuse(notToCome))
    return new Date(
      new Date(day.getFullYear(), day.getMonth(), day.getDate() + Math.max(0, word) + endsOfDay).getTime() - endsOfDay,
    ).toISOString()
  }
  if (/^\d{1,5}[smhd]$/.test(text)) return new Date(Date.now() + durationSecs(text) * 1000).toISOString()
  return writtenTime(text) ?? refuse(notToCome)
}
const notToCome = 'must be a date like 2030-01-31, today, tomorrow, a duration like 3d, or a time.'

/** Parses an estimate of the work on a card. */
export function estimate(text: string): number {
  if (!/^\d{1,7}(\.\d{1,2})?$/.test(text)) throw new InvalidArgumentError('must be a number like 3 or 0.5.')
  return Number(text)
}

function refuse(message: string): never {
  throw new InvalidArgumentError(message)
}

/** Collects card statuses, separated by commas or from a repeated option. */
export function statuses(text: string, before: readonly CardStatus[] | undefined): CardStatus[] {
  const known: readonly string[] = CardStatus.options
  const wanted = text
    .split(',')
    .map(each => each.trim())
    .filter(Boolean)
  if (wanted.length === 0 || wanted.some(each => !known.includes(each)))
    throw new InvalidArgumentError(`must be one or several of ${known.join(', ')}.`)
  return [...(before ?? []), ...(wanted as CardStatus[])]
}

/** Collects the values of a repeatable option. */
export const collect = (text: string, before: readonly string[] | undefined): string[] => [...(before ?? []), text]

/**
 * Returns the values of a repeatable option. `none` alone is an empty list.
 * @throws Failure (usage) for `none` with other values
 */
export function noneAsEmpty<T extends readonly string[] | undefined>(
  given: T,
): T extends undefined ? undefined : string[]
export function noneAsEmpty(given: readonly string[] | undefined): string[] | undefined {
  if (!given?.includes('none')) return given && [...given]
  if (given.length > 1)
    throw usage('none cannot be combined with other values', {
      hint: `specify none alone, or ${given.filter(each => each !== 'none').join(', ')}`,
    })
  return []
}

/** Sets the words that help and completion offer for the first argument. The command itself reports other words. */
export function offerWords(words: readonly string[], command: Command): Command {
  command.registeredArguments[0]!.argChoices = [...words]
  return command
}

/**
 * Parses an option that also accepts a word such as `none`, and keeps that word. For null, commander would return an empty
 * text.
 */
export const orWord =
  <T, W extends string>(word: W, parse: (text: string) => T) =>
  (text: string): T | W =>
    text === word ? word : parse(text)

/** Replaces the word with null. */
export const wordAsNull = <T, W extends string>(word: W, value: T | W | undefined): Exclude<T, W> | null | undefined =>
  value === word ? null : (value as Exclude<T, W> | undefined)

/** A day: `2030-01-31`, or how long ago it was, `30d`. */
export function dayAgo(text: string): string {
  if (text.length === 10 && startsWithDay(text)) return text
  if (!/^\d{1,9}[smhd]?$/.test(text))
    throw new InvalidArgumentError('must be a duration like 30d, counted back from today, or a date like 2030-01-31.')
  return ago(text).slice(0, 10)
}
