import * as v from 'valibot'
import type { NotFoundCode } from './errors.ts'

/** The length of a text in UTF-8. Does not use Node's Buffer, because browsers also use the contract. */
const byteLength = (value: string): number => new TextEncoder().encode(value).length

/** Text without NUL, where the store would cut it, and without lone surrogates, which have no UTF-8 encoding. */
export const text = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.check(value => !value.includes('\0'), 'must not contain the NUL character'),
    v.check(value => value.isWellFormed(), 'must be well-formed Unicode'),
    v.minLength(min, min === 1 ? 'must not be empty' : `must have at least ${min} characters`),
    v.maxLength(max, `must have at most ${max} characters`),
  )

const wholeNumber = (min: number, max: number) =>
  v.pipe(
    v.number('must be a whole number'),
    v.safeInteger('must be a whole number'),
    v.minValue(min, `must be at least ${min}`),
    v.maxValue(max, `must be at most ${max}`),
  )
const decimal = v.pipe(
  v.string(),
  v.regex(/^-?\d{1,100}$/, 'must be a whole number'),
  v.transform(text => Math.min(Number(text), Number.MAX_SAFE_INTEGER)),
)

/** A whole number in a JSON body. */
export const integer = wholeNumber
/** A whole number in a query string. */
export const queryInteger = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  v.pipe(v.union([decimal, v.number()], 'must be a whole number'), wholeNumber(min, max))
/** A page size. A value above the maximum counts as the maximum. */
export const limit = (usual: number, max: number) =>
  v.optional(
    v.pipe(
      queryInteger(1),
      v.transform(value => Math.min(value, max)),
    ),
    usual,
  )
/** `true` or `false` in a query string. */
export const queryBoolean = v.pipe(
  v.union([v.boolean(), v.picklist(['true', 'false', '1', '0'])], 'must be true or false'),
  v.transform(value => value === true || value === 'true' || value === '1'),
)

/** A row's ID on external routes. */
export const IntegerId = wholeNumber(1, Number.MAX_SAFE_INTEGER)
const idText = v.pipe(v.string(), v.regex(/^[1-9]\d{0,15}$/, 'must be an ID'))
/** A row's ID in a client's request on internal routes, where a missing row does not have a separate 404 code. */
const Ref = v.pipe(
  v.union([v.pipe(idText, v.transform(Number)), v.number()], 'must be an ID'),
  wholeNumber(1, Number.MAX_SAFE_INTEGER),
)
/**
 * A row's ID in a client's request on internal routes: `"12"`, or 12.
 * @param notFound the error code if the row does not exist, or the caller cannot see it
 */
export const refTo = (notFound: NotFoundCode) => v.pipe(Ref, v.metadata({ notFound }))
/** A row's ID on external routes: only 12. */
export const integerRefTo = (notFound: NotFoundCode) => v.pipe(IntegerId, v.metadata({ notFound }))
/** A row's ID in a query string. */
export const queryRefTo = (notFound: NotFoundCode) => v.pipe(queryInteger(1), v.metadata({ notFound }))
/** A row's ID in responses of internal routes: `"12"`. */
export const Id = idText
/** An account's ID. Before the first account exists, the local operator is 0. */
export const AccountId = v.union([Id, v.literal('0')], 'must be an ID')
export const IntegerAccountId = wholeNumber(0, Number.MAX_SAFE_INTEGER)
/** The ID of an account that a client names on internal routes. */
export const AccountRef = v.pipe(
  v.union([v.pipe(AccountId, v.transform(Number)), v.number()], 'must be an ID'),
  IntegerAccountId,
)
/** All IDs of a list in their new order. */
export const Order = v.strictObject({ ids: v.pipe(v.array(Ref), v.maxLength(10_000)) })

/** Whether a text begins with an existing day, such as 2026-02-28. JavaScript parses 2026-02-30 as March 2. */
export function startsWithDay(text: string): boolean {
  const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? []
  if (day === undefined) return false
  const time = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day)
}
/** A day in UTC. */
export const Day = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d\d-\d\d$/, 'must be a day such as 2026-01-31'),
  v.check(startsWithDay, 'must be a day that exists'),
)
/** ISO 8601, UTC, milliseconds. */
export const Time = v.pipe(v.string(), v.isoTimestamp())
/** A time from a client, with any offset. It is stored in UTC. */
export const GivenTime = v.pipe(
  Time,
  v.check(value => startsWithDay(value) && !Number.isNaN(Date.parse(value)), 'must be a time on a day that exists'),
  v.transform(value => new Date(value).toISOString()),
)
/**
 * Whether a text has a visible character. White space, zero-width and control characters, fillers and the blank Braille pattern
 * are invisible.
 */
export const isVisible = (value: string): boolean =>
  /[^\s\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(value)
/** A name, which must be visible. */
const nameText = (max: number) =>
  v.pipe(
    text(1, max),
    v.check(value => value === '' || isVisible(value), 'must contain a visible character'),
  )
export const Name = nameText(200)
export const Title = nameText(500)
/** A name or title in an imported file, which can come from a program without this rule. An invisible name becomes "Untitled". */
const importedName = (max: number) =>
  v.pipe(
    text(1, max),
    v.transform(value => (isVisible(value) ? value : 'Untitled')),
  )
export const ImportedName = importedName(200)
export const ImportedTitle = importedName(500)
/** The maximum length of a prompt in UTF-8. */
export const maxPromptBytes = 65_536
export const Prompt = v.pipe(
  text(0, maxPromptBytes),
  v.check(value => byteLength(value) <= maxPromptBytes, `must have at most ${maxPromptBytes} bytes`),
)
export const Labels = v.pipe(v.array(text(1, 100)), v.maxLength(50, 'must have at most 50 labels'))
/** The zero-based place in a column. A place beyond the end means the end. */
export const Position = wholeNumber(0, Number.MAX_SAFE_INTEGER)
/** An address without invisible characters, with which it could look like another user's address. */
export const Email = v.pipe(
  text(3, 254),
  v.trim(),
  v.regex(/^[^\s@"<>\p{C}]+@[^\s@"<>\p{C}]+$/u, 'must be an email address'),
)
/** The target address of messages. It contains no user name and no password. */
export const WebhookUrl = v.pipe(
  text(1, 2000),
  v.url('must be a URL'),
  v.regex(/^https?:\/\//i, 'must begin with https:// or http://'),
  v.check(
    url => !URL.canParse(url) || new URL(url).username + new URL(url).password === '',
    'must not contain a user name or password',
  ),
)
export const Count = v.pipe(v.number(), v.integer())

export const ColumnType = v.picklist(
  ['backlog', 'active', 'done', 'archive'],
  'must be backlog, active, done or archive',
)
export type ColumnType = v.InferOutput<typeof ColumnType>
export const CardStatus = v.picklist(
  ['idle', 'queued', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'interrupted'],
  'must be idle, queued, running, waiting, completed, failed, cancelled or interrupted',
)
export type CardStatus = v.InferOutput<typeof CardStatus>
export const CardKind = v.picklist(['kanban', 'terminal', 'assistant'])
export type CardKind = v.InferOutput<typeof CardKind>
/** `pending`: a review is awaited, or was given without a verdict. Null before the first review. */
export const ReviewState = v.picklist(['pending', 'changes_requested', 'approved'])
export type ReviewState = v.InferOutput<typeof ReviewState>
/** A script's shell command. */
export const ShellCommand = text(1, 16_384)
/** The ID of an agent provider. */
export const AgentId = v.pipe(text(1, 100), v.regex(/^[a-z0-9][\w.-]*$/i, 'must be the ID of an agent'))
/** The name of an environment variable that users can set. The board's own variables are reserved. */
export const VariableName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z_]\w{0,199}$/, 'must be the name of an environment variable'),
  v.check(name => !/^BOARD_/i.test(name), 'must not begin with BOARD_'),
)
export const UserRole = v.picklist(['super_admin', 'admin', 'user'], 'must be super_admin, admin or user')
export type UserRole = v.InferOutput<typeof UserRole>

/** Any JSON object, limited in depth, so that recursive functions cannot overflow the stack. */
export const AnyObject = v.pipe(
  v.record(v.string(), v.unknown()),
  v.check(value => depth(value) <= 32, 'must not nest deeper than 32 levels'),
)
/** A JSON object with client-defined content. */
export const JsonObject = v.pipe(
  AnyObject,
  v.check(value => byteLength(JSON.stringify(value)) <= 262_144, 'must have at most 262144 bytes'),
  v.check(value => JSON.stringify(value).isWellFormed(), 'must be well-formed Unicode'),
)

function depth(value: unknown, level = 0): number {
  if (level > 64 || value === null || typeof value !== 'object') return level
  let maxLevel = level + 1
  for (const child of Object.values(value)) maxLevel = Math.max(maxLevel, depth(child, level + 1))
  return maxLevel
}
